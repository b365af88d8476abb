// Decode speed at steady state, for the verbs that report it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/run/decode.h"

namespace steady {

constexpr std::int64_t kWarmUpTokens = 4;

struct Measured {
    std::vector<double> token_ns;
    double launches_per_token = 0;
    double barrier_ns_per_token = 0;  // what the calling thread waits for the others
    std::int64_t peak_rss_bytes = 0;
};

// Times n tokens behind kWarmUpTokens others, with `depth` positions in the cache before them.
Measured measure(Arm& arm, Scope scope, std::int64_t depth, std::int64_t n,
                 std::span<const std::int32_t> tokens);

// Token ids that visit the vocabulary in a fixed, scattered order.
std::vector<std::int32_t> scattered_tokens(std::int64_t n, std::int64_t n_vocab);

}  // namespace steady
