// Both arms in one process, over the same weights and the same forced tokens, alternating every few
// tokens in a random order that was drawn beforehand. Exchanging the arms' names negates the result
// whatever the machine does, which makes the comparison fair.
#pragma once

#include "engine/protocol/session.h"
#include "engine/run/decode.h"
#include "engine/run/model.h"

namespace steady {

// Positions that the request needs in each arm's cache.
std::int64_t duet_positions(const protocol::DuetRequest& request);

// Error when the request contradicts itself (coins, chunk, scope, context). Nonce is left empty.
protocol::DuetReply run_duet(const GgufFile& file, Arm& a, Arm& b,
                             const protocol::DuetRequest& request);

protocol::CorrectnessReply compare_outputs(const GgufFile& file, Arm& a, Arm& b,
                                           const protocol::CorrectnessRequest& request);

// Adds one position's logits (both [n_vocab]) to the reply's sums; finish_comparison divides.
void add_position(protocol::CorrectnessReply& reply, std::span<const float> a,
                  std::span<const float> b);
void finish_comparison(protocol::CorrectnessReply& reply);

}  // namespace steady
