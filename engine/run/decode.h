// Feeds forced tokens to an arm and times each: the loop under every measurement. The injected
// slowdown (option burn) is added here, inside the token's own time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "engine/model/arm.h"

namespace steady {

// Part of the model that one timed token runs.
enum class Scope {
    model,  // a whole decode step
    block,  // one block, cycling through those of the prevailing kind
    ffn,    // that block's feed-forward alone
};

struct TimedToken {
    std::int64_t begin_ns = 0, latency_ns = 0;
};

// Runs and times token `token` at `position`; in scopes block and ffn, number `turn` picks the
// block.
TimedToken timed_token(Arm& arm, Scope scope, std::int32_t token, std::int64_t position,
                       std::int64_t turn);

// Feeds tokens at positions first … in batches, without logits but for the last; returns those,
// where they are wanted.
std::span<const float> feed(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first = 0,
                            Want want = Want::logits);

// Behind a prompt of n tokens the cache holds its rows again and again, `depth` more of them, as if
// a long text had been read: what attention costs does not depend on what it reads, and reading
// 2,000 tokens for every pair would take minutes. The next position is n + depth. Error where the
// cache keeps groups of positions and the prompt is no whole number of them.
void repeat_prompt(Arm& arm, std::int64_t n, std::int64_t depth);

// Tokens of a prompt that stands for `depth` positions: the rest repeats it.
constexpr std::int64_t kFedOfDepth = 64;

// n forced tokens of `text`: as the model's tokenizer cuts it, repeated when it is shorter.
// Error when the text gives no token.
std::vector<std::int32_t> forced_tokens(const GgufFile& file, const std::string& text,
                                        std::int64_t n, std::int64_t n_vocab);

// Memory that the arm accounts for: the weights it reads (shared or not), its cache and state.
std::int64_t resident_bytes_of(const Arm& arm);

// Of latencies, of which there must be one.
double median(std::vector<double> values);

}  // namespace steady
