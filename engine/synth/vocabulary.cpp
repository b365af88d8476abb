// Tokens are stored in the printable alphabet of byte-level BPE, where a space is "Ġ".
#include "engine/synth/vocabulary.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/gguf/token_type.h"
#include "engine/text/byte_alphabet.h"

namespace steady {
namespace {

// Common English pairs first, so that even the smallest vocabulary tokenises prose.
constexpr std::string_view kEnglishMerges[] = {
    "Ġ t",  "h e",  "i n",  "Ġ a", "r e",   "o n",  "Ġt he", "e r", "Ġ s",  "a t",
    "Ġ w",  "Ġ o",  "e n",  "Ġ c", "i t",   "i s",  "a n",   "o r", "e s",  "Ġ b",
    "e d",  "Ġ f",  "in g", "Ġ p", "o u",   "Ġa n", "a l",   "a r", "Ġt o", "Ġ m",
    "Ġo f", "Ġ in", "Ġ d",  "Ġ h", "Ġan d", "i c",  "a s",   "l e", "Ġt h", "i on"};

struct ControlTokens {
    std::vector<std::string_view> texts;  // in order of their numbers
    std::size_t bos, eos, eot;            // indices into texts
    bool add_bos;
};

ControlTokens special_tokens(const std::string& pre) {
    if (pre == "glm4") {
        return {{"<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>",
                 "<|user|>", "<|assistant|>", "<|observation|>", "<think>", "</think>"},
                2,
                0,
                7,
                false};
    }
    if (pre == "deepseek-llm") {
        return {{"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"}, 0, 1, 1, true};
    }
    return {{"<|begin_of_text|>", "<|end_of_text|>", "<|User|>", "<|Assistant|>", "<think>",
             "</think>"},
            0,
            1,
            1,
            false};
}

struct Builder {
    std::size_t wanted;  // tokens before the special ones
    std::vector<std::string> tokens{};
    std::vector<std::string> merges{};
    std::unordered_set<std::string> known{};

    bool full() const { return tokens.size() >= wanted; }

    void merge(const std::string& left, const std::string& right) {
        if (full() || !known.insert(left + right).second) return;
        tokens.push_back(left + right);
        merges.push_back(left + " " + right);
    }

    // Every token of `stems` with one more letter; returns the new stems.
    std::vector<std::string> grow(const std::vector<std::string>& stems) {
        std::vector<std::string> grown;
        for (const std::string& stem : stems) {
            for (char letter = 'a'; letter <= 'z' && !full(); ++letter) {
                merge(stem, std::string(1, letter));
                grown.push_back(stem + letter);
            }
        }
        return grown;
    }
};

Builder build(std::size_t wanted) {
    Builder builder{.wanted = wanted};
    for (int byte = 0; byte < 256; ++byte) {
        builder.tokens.emplace_back(byte_text(static_cast<std::uint8_t>(byte)));
        builder.known.insert(builder.tokens.back());
    }
    for (const std::string_view pair : kEnglishMerges) {
        const std::size_t space = pair.find(' ');
        builder.merge(std::string(pair.substr(0, space)), std::string(pair.substr(space + 1)));
    }
    std::vector<std::string> stems{"Ġ"};
    for (char letter = 'a'; letter <= 'z'; ++letter) stems.emplace_back(1, letter);
    while (!builder.full()) stems = builder.grow(stems);
    return builder;
}

}  // namespace

void write_vocabulary(const Geometry& geometry, GgufWriter& writer) {
    Builder builder = build(geometry.first_special);
    const ControlTokens special = special_tokens(geometry.pre);
    std::vector<std::int32_t> types(builder.tokens.size(), kNormal);
    for (const std::string_view text : special.texts) {
        builder.tokens.emplace_back(text);
        types.push_back(kControl);
    }
    while (builder.tokens.size() < geometry.n_vocab) {
        builder.tokens.push_back(fmt::format("[PAD{}]", builder.tokens.size()));
        types.push_back(kUnused);
    }
    const auto id = [&](std::size_t index) {
        return static_cast<std::uint32_t>(geometry.first_special + index);
    };
    writer.string("tokenizer.ggml.model", "gpt2");
    writer.string("tokenizer.ggml.pre", geometry.pre);
    writer.strings("tokenizer.ggml.tokens", builder.tokens);
    writer.i32_array("tokenizer.ggml.token_type", types);
    writer.strings("tokenizer.ggml.merges", builder.merges);
    writer.u32("tokenizer.ggml.bos_token_id", id(special.bos));
    writer.u32("tokenizer.ggml.eos_token_id", id(special.eos));
    writer.u32("tokenizer.ggml.eot_token_id", id(special.eot));
    writer.u32("tokenizer.ggml.padding_token_id", id(special.eos));
    writer.boolean("tokenizer.ggml.add_bos_token", special.add_bos);
}

}  // namespace steady
