// One timed token, and what surrounds it.
#include "engine/run/decode.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/model/forward.h"
#include "engine/text/tokenizer.h"

namespace steady {
namespace {

// Blocks of the prevailing kind: those with experts if there are any. A mixture would give the
// latencies a period, which no warm-up detection should have to see through.
std::int64_t block_of_turn(const Config& config, std::int64_t turn) {
    const bool experts = config.n_dense_blocks < config.n_blocks;
    const std::int64_t first = experts ? config.n_dense_blocks : 0;
    return first + turn % (config.n_blocks - first);
}

void burn(std::int64_t begin_ns, double share) {
    const std::int64_t own = now_ns() - begin_ns;
    const auto extra = static_cast<std::int64_t>(static_cast<double>(own) * share);
    while (now_ns() - begin_ns < own + extra) __builtin_ia32_pause();
}

}  // namespace

TimedToken timed_token(Arm& arm, Scope scope, std::int32_t token, std::int64_t position,
                       std::int64_t turn) {
    const std::int64_t block = block_of_turn(arm.config, turn);
    if (scope != Scope::model) embed(arm, {&token, 1}, position);
    const std::int64_t begin = now_ns();
    switch (scope) {
        case Scope::model:
            forward(arm, token, position, Want::made);
            break;
        case Scope::block:
            run_block(arm, block, position);
            break;
        case Scope::ffn:
            run_feed_forward(arm, block);
            break;
    }
    if (arm.options.burn > 0) burn(begin, arm.options.burn);
    return {begin, now_ns() - begin};
}

std::span<const float> feed(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first,
                            Want want) {
    std::span<const float> logits;
    // A trace names the values of one token at a time.
    const auto batch = arm.trace ? 1 : static_cast<std::size_t>(arm.batch);
    for (std::size_t i = 0; i < tokens.size(); i += batch) {
        const std::int64_t begin = arm.options.burn > 0 ? now_ns() : 0;
        const std::size_t n = std::min(batch, tokens.size() - i);
        logits = forward(arm, tokens.subspan(i, n), first + static_cast<std::int64_t>(i),
                         i + n == tokens.size() ? want : Want::nothing);
        if (arm.options.burn > 0) burn(begin, arm.options.burn);
    }
    return logits;
}

void repeat_prompt(Arm& arm, std::int64_t n, std::int64_t depth) {
    if (depth > 0) arm.cache.repeat(n, n + depth);
}

std::vector<std::int32_t> forced_tokens(const GgufFile& file, const std::string& text,
                                        std::int64_t n, std::int64_t n_vocab) {
    const Tokenizer tokenizer = Tokenizer::load(file);
    const std::vector<std::int32_t> found = tokenizer.encode(text, false);
    if (found.empty()) throw Error{"text: it is empty; a workload needs at least one token"};
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t token = found[static_cast<std::size_t>(i) % found.size()];
        if (token < 0 || token >= n_vocab) {
            throw Error{
                fmt::format("{}: the tokenizer gives token {}, the model has {} rows of "
                            "embedding",
                            file.path(), token, n_vocab)};
        }
        tokens.push_back(token);
    }
    return tokens;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::int64_t resident_bytes_of(const Arm& arm) {
    return arm.weights.placed_bytes + arm.cache.bytes() + state_bytes(arm.state);
}

}  // namespace steady
