// Verbs generate and tokenize: text in, text out. A prompt given as text ends at the model's stop
// tokens; one given as token ids is taken literally and runs for exactly n tokens.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/greedy.h"
#include "engine/run/model.h"
#include "engine/text/chat.h"
#include "engine/text/sampler.h"
#include "engine/text/tokenizer.h"
#include "engine/verbs/verbs.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

struct Prompt {
    std::vector<std::int32_t> tokens;
    bool ends_at_stop = false;
};

Prompt read_prompt(const Arguments& arguments, const std::optional<Tokenizer>& tokenizer,
                   std::int64_t n_vocab) {
    const bool as_text = arguments.has("--prompt");
    if (as_text == arguments.has("--tokens")) {
        throw Error{"generate: give exactly one of --prompt TEXT and --tokens LIST"};
    }
    if (arguments.has("--chat") && !as_text) {
        throw Error{"--chat: token ids are taken literally; give the user's turn by --prompt TEXT"};
    }
    if (arguments.has("--system") && !arguments.has("--chat")) {
        throw Error{"--system: only a chat has a system's turn; add --chat"};
    }
    if (!as_text) return {arguments.tokens("--tokens", n_vocab), false};
    const std::string text = arguments.text("--prompt");
    Prompt prompt{{}, true};
    if (arguments.has("--chat")) {
        std::vector<ChatTurn> turns;
        if (arguments.has("--system")) {
            turns.push_back({ChatRole::system, arguments.text("--system")});
        }
        turns.push_back({ChatRole::user, text});
        prompt.tokens = encode_chat(*tokenizer, turns);
    } else {
        if (tokenizer->add_bos() && tokenizer->bos()) prompt.tokens.push_back(*tokenizer->bos());
        const std::vector<std::int32_t> rest = tokenizer->encode(text);
        prompt.tokens.insert(prompt.tokens.end(), rest.begin(), rest.end());
    }
    if (prompt.tokens.empty()) throw Error{"generate: the prompt is empty; give it some text"};
    return prompt;
}

SamplerOptions sampler_options(const Arguments& arguments) {
    return {.temperature = static_cast<float>(arguments.real("--temperature", 0, 100, 0)),
            .top_k = static_cast<int>(arguments.number("--top-k", 0, 1 << 24, 0)),
            .top_p = static_cast<float>(arguments.real("--top-p", 1e-6, 1, 1)),
            .seed = static_cast<std::uint64_t>(arguments.number("--seed", 0, INT64_MAX, 0))};
}

// A file without a vocabulary can still be run on token ids.
std::optional<Tokenizer> load_tokenizer(const GgufFile& file, bool needed) {
    if (!needed && file.find("tokenizer.ggml.tokens") == nullptr) return std::nullopt;
    return Tokenizer::load(file);
}

}  // namespace

int run_generate(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 22, 64);
    Model model(arguments.positionals[0]);
    const std::optional<Tokenizer> tokenizer =
        load_tokenizer(model.file, arguments.has("--prompt"));
    const Prompt prompt = read_prompt(arguments, tokenizer, model.config.n_vocab);
    const SamplerOptions sampling = sampler_options(arguments);
    Sampler sampler(sampling, static_cast<std::int32_t>(model.config.n_vocab));
    const auto n_prompt = static_cast<std::int64_t>(prompt.tokens.size());
    const std::int64_t context = arguments.number("--context", 1, 1 << 24, n_prompt + n);
    if (context < n_prompt + n) {
        throw Error{fmt::format("--context: {} positions cannot hold {} prompt + {} new tokens",
                                context, n_prompt, n)};
    }
    auto arms = model.make_arms({arguments.arm()}, context);
    std::vector<std::int32_t> made;
    std::optional<Greedy> greedy;
    std::span<const float> logits;
    if (sampling.temperature == 0) {
        greedy.emplace(*arms[0], prompt.tokens, n);
    } else {
        logits = feed(*arms[0], prompt.tokens);
    }
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t token = greedy ? greedy->next() : sampler.pick(logits);
        if (prompt.ends_at_stop && tokenizer->is_stop(token)) break;
        made.push_back(token);
        if (!arguments.json() && tokenizer) {
            const std::string_view piece = tokenizer->piece(token);
            std::fwrite(piece.data(), 1, piece.size(), stdout);
            std::fflush(stdout);
        }
        if (!greedy && i + 1 < n) logits = feed(*arms[0], {&made.back(), 1}, n_prompt + i);
    }
    if (arguments.json()) {
        const Json result{{"tokens", made}, {"text", tokenizer ? tokenizer->decode(made) : ""}};
        fmt::print("{}\n", result.dump(-1, ' ', false, Json::error_handler_t::replace));
    } else if (!tokenizer) {
        fmt::print("{}\n", fmt::join(made, ","));
    } else {
        fmt::print("\n");
    }
    return kExitOk;
}

int run_tokenize(const Arguments& arguments) {
    const GgufFile file = GgufFile::open(arguments.positionals[0]);
    if (arguments.has("--text") == arguments.has("--file")) {
        throw Error{"tokenize: give exactly one of --text TEXT and --file PATH"};
    }
    std::string text = arguments.text("--text");
    if (arguments.has("--file")) {
        std::ifstream in(arguments.text("--file"), std::ios::binary);
        if (!in) throw Error{fmt::format("--file: cannot read '{}'", arguments.text("--file"))};
        text.assign(std::istreambuf_iterator<char>(in), {});
    }
    const Tokenizer tokenizer = Tokenizer::load(file);
    const std::vector<std::int32_t> tokens = tokenizer.encode(text);
    if (arguments.json()) {
        fmt::print("{}\n", Json{{"tokens", tokens}}.dump());
    } else {
        for (const std::int32_t token : tokens) {
            fmt::print("{:>8}  {}\n", token, printable(tokenizer.piece(token)));
        }
    }
    return kExitOk;
}

}  // namespace steady
