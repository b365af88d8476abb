// Picks the next token from logits: greedy, or at random by temperature, top-k and top-p. The same
// seed and logits give the same tokens. NaN can neither win nor hang: it counts as impossible.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace steady {

struct SamplerOptions {
    float temperature = 0.0F;  // 0: greedy, the other options do nothing
    int top_k = 0;             // 0: all tokens
    float top_p = 1.0F;        // in (0, 1]; 1: all tokens
    std::uint64_t seed = 0;
};

class Sampler {
public:
    // Error if an option is out of range. Memory for n_vocab tokens is taken here, once.
    Sampler(const SamplerOptions& options, std::int32_t n_vocab);

    // logits: [n_vocab]. Error if no logit is a number, as after a broken kernel.
    std::int32_t pick(std::span<const float> logits);

private:
    struct Candidate {
        float logit;
        std::int32_t token;
    };
    SamplerOptions options_;
    std::mt19937_64 random_;
    std::vector<Candidate> candidates_;
    std::vector<double> weights_;
};

// The largest logit, ties to the lower number; NaN is skipped. Error if there is none.
std::int32_t greedy_token(std::span<const float> logits);
[[noreturn]] void refuse_logits(std::size_t n);  // that Error, of n logits

}  // namespace steady
