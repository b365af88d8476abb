// One pass of a deepseek2 model, top to bottom: a token in decoding, a batch of them in a prompt.
// Steps with structural alternatives go through the plan; everything else is one line per step
// here.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/arm.h"

namespace steady {

// Feeds 1 … batch tokens at positions first … (first + n ≤ context), which extends the
// cache. Returns the last token's logits [n_vocab], valid until the next call; empty when they are
// not wanted (inside a prompt), or left where they were made.
std::span<const float> forward(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first,
                               Want want = Want::logits);
inline std::span<const float> forward(Arm& arm, std::int32_t token, std::int64_t position,
                                      Want want = Want::logits) {
    return forward(arm, {&token, 1}, position, want);
}

// The parts, for block-level measurements. embed begins a pass of these tokens at positions first
// …; block `index` takes and leaves state.x.
void embed(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first);
void run_block(Arm& arm, std::int64_t index, std::int64_t first);
void run_feed_forward(Arm& arm, std::int64_t index);  // with its norm and residual

// Shared with the steps: y = down(silu(gate · h) ∘ (up · h)) of a dense block or shared expert,
// split so that a step can join its products with others in one launch.
void swiglu_hidden(Arm& arm, const Block& block);  // state.gate, state.up → state.hidden

// The first n tokens' values of a state vector, `width` each.
inline std::span<const float> values_of(const std::vector<float>& v, std::int64_t n,
                                        std::int64_t width) {
    return {v.data(), static_cast<std::size_t>(n * width)};
}

}  // namespace steady
