// Where a token's time goes: per op the calls, time and weight bytes, counted on real decode steps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/model/arm.h"
#include "engine/protocol/session.h"

namespace steady {

struct Profile {
    std::vector<protocol::ProfileRow>
        rows;  // most time first; ops that were not called are left out
    // On a GPU as tokens are issued when nobody times their ops, and of a persistent launch: tasks
    // that its blocks walk through, and the time that a block waits for others, as their mean.
    double launches_per_token = 0;
    double barriers_per_token = 0;
    double barrier_ns_per_token = 0;
    double token_ns = 0;  // mean, with the timers running
};

// Feeds all tokens, `depth` repeated positions behind the first n_prompt (repeat_prompt); those and
// the prompt are not counted.
Profile profile_decode(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t n_prompt,
                       std::int64_t depth);

// The same of A and of B, which take turns in up to 8 rounds, as many as cut the counted tokens
// into equal parts. An op's time is the median of its rounds, so that a noisy second does not
// show. Each arm is parked while the other runs.
std::array<Profile, 2> profile_in_turns(Arm& a, Arm& b, std::span<const std::int32_t> tokens,
                                        std::int64_t n_prompt, std::int64_t depth);

// Feeds all tokens as one prompt, twice; the second time counts.
Profile profile_prompt(Arm& arm, std::span<const std::int32_t> tokens);

// What memory gives the arm's threads, or its GPU, at most: GB/s, the best of `passes` with each
// loop. 0, not measured: weights of so many bytes stay in the CPU's cache, and memory does not
// limit them.
double memory_read_gb_per_s(Arm& arm, std::int64_t weight_bytes, int passes);

// What one decode step really ran: one token at position 0, counted.
protocol::AppliedArm applied_arm(Arm& arm);

}  // namespace steady
