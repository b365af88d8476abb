// Reads and checks the tokenizer.ggml.* metadata. Everything that later serves as an index is
// compared with the number of tokens here.
#include <fmt/format.h>

#include <deque>
#include <limits>

#include "engine/gguf/token_type.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/tokenizer_data.h"

namespace steady {
namespace {

constexpr const char* kTokensKey = "tokenizer.ggml.tokens";
constexpr const char* kTypesKey = "tokenizer.ggml.token_type";
constexpr const char* kMergesKey = "tokenizer.ggml.merges";

// Tokens that end a turn or a text in the three models, whatever their number is in this file.
constexpr std::string_view kStopTexts[] = {
    "<|endoftext|>",   "<|user|>",   "<|observation|>", "<｜end▁of▁sentence｜>",
    "<|end_of_text|>", "<|eot_id|>", "<|EOT|>",         "<|im_end|>"};

std::optional<std::uint8_t> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
    if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
    if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
    return std::nullopt;
}

// The byte of "<0x41>", strictly.
std::optional<char> byte_token(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
    const auto high = hex_digit(text[3]);
    const auto low = hex_digit(text[4]);
    if (!high || !low) return std::nullopt;
    return static_cast<char>(*high << 4 | *low);
}

}  // namespace

struct VocabularyLoader {
    const GgufFile& file;
    Tokenizer::Data& data;
    std::vector<std::int32_t> types{};
    std::unordered_map<std::string_view, Symbol> symbols{};
    std::deque<std::string> merged_texts{};  // keeps the views in `symbols` alive

    std::size_t n_vocab() const { return data.texts.size(); }

    void load() {
        read_tokens();
        read_types();
        read_pieces();
        read_merges();
        data.bos = token_number("tokenizer.ggml.bos_token_id");
        data.eos = token_number("tokenizer.ggml.eos_token_id");
        data.add_bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(false) && data.bos;
        mark_stops();
    }

    void read_tokens() {
        const auto texts = file.strings(kTokensKey);
        if (!texts || texts->empty()) {
            file.reject(kTokensKey, texts ? "no tokens" : "no such key", "an array of strings");
        }
        if (texts->size() > std::numeric_limits<std::int32_t>::max()) {
            file.reject(kTokensKey, std::to_string(texts->size()), "fewer than 2^31 tokens");
        }
        for (const std::string_view text : *texts) data.texts.add(text);
        data.tokens.reserve(n_vocab());
        for (std::size_t i = 0; i < n_vocab(); ++i) {
            data.tokens[data.texts[i]] = static_cast<std::int32_t>(i);
        }
        check_length("tokenizer.ggml.scores");
    }

    void check_length(const char* key) const {
        const Metadata* entry = file.find(key);
        if (entry == nullptr ||
            (entry->type == ValueType::array && entry->n_elements == n_vocab())) {
            return;
        }
        file.reject(key, fmt::format("{} elements", entry->n_elements),
                    fmt::format("an array of {}, as many as there are tokens", n_vocab()));
    }

    void read_types() {
        check_length(kTypesKey);
        const auto found = file.i32_array(kTypesKey);
        types = found ? *found : std::vector<std::int32_t>(n_vocab(), kNormal);
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (types[i] < 0 || types[i] > kByte) {
                file.reject(kTypesKey, fmt::format("{} at {}", types[i], i), "0 to 6");
            }
        }
    }

    void read_pieces() {
        for (std::size_t i = 0; i < n_vocab(); ++i) {
            const std::string_view text = data.texts[i];
            const auto token = static_cast<std::int32_t>(i);
            switch (types[i]) {
                case kUnused:
                    data.pieces.add("");
                    break;
                case kControl:
                case kUnknown:
                case kUserDefined:
                    data.pieces.add(text);
                    data.special.add(text, token, types[i] != kUserDefined);
                    break;
                case kByte: {
                    const std::optional<char> byte = byte_token(text);
                    if (!byte) {
                        file.reject(kTokensKey,
                                    fmt::format("byte token {} '{}'", i, printable(text)),
                                    "<0x00> to <0xFF>");
                    }
                    data.pieces.add(std::string_view(&*byte, 1));
                    break;
                }
                default:
                    // A normal token outside of the byte alphabet is a text as it stands.
                    data.pieces.add(bytes_of_text(text).value_or(std::string(text)));
            }
        }
    }

    Symbol symbol(std::string_view text) {
        const auto [found, is_new] = symbols.try_emplace(text, static_cast<Symbol>(symbols.size()));
        if (!is_new) return found->second;
        const auto token = data.tokens.find(text);
        data.symbol_tokens.push_back(token == data.tokens.end() ? -1 : token->second);
        if (token == data.tokens.end()) {
            data.orphans[found->second] = bytes_of_text(text).value_or("");
        }
        return found->second;
    }

    Symbol merged_symbol(std::string_view left, std::string_view right) {
        std::string text(left);
        text += right;
        const auto found = symbols.find(text);
        if (found != symbols.end()) return found->second;
        return symbol(merged_texts.emplace_back(std::move(text)));
    }

    void read_merges() {
        // The first 256 symbols are the bytes.
        for (int byte = 0; byte < 256; ++byte) symbol(byte_text(static_cast<std::uint8_t>(byte)));
        const auto merges = file.strings(kMergesKey);
        if (!merges) file.reject(kMergesKey, "no such key", "an array of strings");
        data.merger.reserve(merges->size());
        for (std::size_t i = 0; i < merges->size(); ++i) {
            const std::string_view merge = (*merges)[i];
            const std::size_t space = merge.find(' ', 1);
            if (space == std::string_view::npos || space + 1 == merge.size()) {
                file.reject(kMergesKey, fmt::format("'{}' at {}", printable(merge), i),
                            "two texts with a space between");
            }
            const std::string_view left = merge.substr(0, space);
            const std::string_view right = merge.substr(space + 1);
            const Merge result{static_cast<std::int32_t>(i), merged_symbol(left, right)};
            data.merger.add(symbol(left), symbol(right), result);
        }
    }

    std::optional<std::int32_t> token_number(const char* key) const {
        const std::optional<std::uint32_t> value = file.u32(key);
        if (!value) return std::nullopt;
        if (*value >= n_vocab()) {
            file.reject(key, std::to_string(*value),
                        fmt::format("less than the {} tokens", n_vocab()));
        }
        return static_cast<std::int32_t>(*value);
    }

    void mark_stops() {
        data.stops.assign(n_vocab(), false);
        const auto mark = [&](std::optional<std::int32_t> token) {
            if (token) data.stops[static_cast<std::size_t>(*token)] = true;
        };
        mark(data.eos);
        mark(token_number("tokenizer.ggml.eot_token_id"));
        mark(token_number("tokenizer.ggml.eom_token_id"));
        for (const std::string_view text : kStopTexts) {
            const auto found = data.tokens.find(text);
            if (found == data.tokens.end()) continue;
            const auto index = static_cast<std::size_t>(found->second);
            if (types[index] == kControl) data.stops[index] = true;
        }
    }
};

Tokenizer Tokenizer::load(const GgufFile& file) {
    const std::string_view model = file.require_string("tokenizer.ggml.model");
    if (model != "gpt2") {
        file.reject("tokenizer.ggml.model", fmt::format("'{}'", printable(model)),
                    "'gpt2', byte-level BPE");
    }
    const std::string name(file.require_string("tokenizer.ggml.pre"));
    if (!Pretokenizer::knows(name)) {
        file.reject("tokenizer.ggml.pre", fmt::format("'{}'", printable(name)),
                    Pretokenizer::names());
    }
    auto data = std::make_unique<Data>(name);
    // youtu's vocabulary holds tokens that its merges do not reach.
    data->whole_pieces_first = name == "youtu";
    VocabularyLoader{.file = file, .data = *data}.load();
    return Tokenizer(std::move(data));
}

}  // namespace steady
