// One decode step of a deepseek2 model, top to bottom. Steps with structural alternatives go
// through the plan; everything else is one line per step here.
#pragma once

#include <cstdint>
#include <span>

#include "engine/run/arm.h"

namespace steady {

// Feeds `token` at `position` (0 ≤ position < context), which extends the cache. Returns the logits
// [n_vocab], valid until the next call; empty when they are not wanted (inside a prompt).
std::span<const float> forward(Arm& arm, std::int32_t token, std::int64_t position,
                               bool want_logits = true);

// The parts, for block-level measurements. Block `index` takes and leaves state.x.
void embed(Arm& arm, std::int32_t token);
void run_block(Arm& arm, std::int64_t index, std::int64_t position);
void run_feed_forward(Arm& arm, std::int64_t index);  // with its norm and residual

// Shared with the steps: y = down(silu(gate · h) ∘ (up · h)) of a dense block or shared expert,
// split so that a step can join its products with others in one launch.
void swiglu_hidden(Arm& arm, const Block& block);  // state.gate, state.up → state.hidden

}  // namespace steady
