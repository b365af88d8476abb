// What in a model's weights speed and exactness depend on, measured on a text: channels far larger
// than the rest, how evenly the routers load the experts, how often the next token asks for the
// same ones, and how close the choices are. engine/synth/realistic.h has published figures.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/arm.h"

namespace steady {

struct WeightTraits {
    std::int64_t tokens = 0, blocks = 0;
    // Of what the products read. An outlier channel is six times the median channel, in a quarter
    // of the norms or more (both criteria: LLM.int8).
    std::int64_t outlier_channels = 0;
    double largest_channel = 0;  // over the median channel; median over the norms

    // Of routed blocks; all zero where there are none.
    std::int64_t routed_blocks = 0, experts = 0, used = 0;
    double load_above_mean = 0;      // most loaded expert over the mean, minus 1; mean over blocks
    double balanced_above_mean = 0;  // the same where each choice is random
    double idle_experts = 0;         // share of the experts that no token chose, mean over blocks
    double repeats_first = 0;        // first choice is the previous token's, over chance, mean
    double repeats_first_block = 0;  // the same in the first routed block
    double margin = 0;  // last chosen over first left out, in deviations of the scores; median
    // The other arm's arithmetic chooses other experts.
    double changed_choices = 0;  // share of tokens × routed blocks
    double changed_tokens = 0;   // share of tokens, in one block or more
};

// Feeds the tokens to both arms, which differ in their arithmetic alone. Both run on the CPU.
WeightTraits weight_traits(Arm& arm, Arm& other, std::span<const std::int32_t> tokens);

}  // namespace steady
