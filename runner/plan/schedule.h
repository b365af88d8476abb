// The order of the arms, fixed before the first sample: one fair random bit per block of each pair,
// reproducible from the stored seed with SHA-256. The validity of verdicts follows from these bits
// alone, so nothing else may influence the order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/plan/plan.h"
#include "runner/plan/sample.h"
#include "runner/spec/spec.h"

namespace steady {

// 0: A (baseline) first, 1: B first. The digest SHA-256(seed ‖ gate ‖ pair ‖ try ‖ block), every
// field a little-endian u64, is read as a little-endian number as well: its lowest bit is bit 0
// of the digest's first byte.
int coin(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair, std::uint64_t attempt,
         std::uint64_t block);

// One character '0' or '1' per block.
std::string draw_coins(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair,
                       std::uint64_t attempt, int n_blocks);

// For the random padding of stack and heap of the process that measures this pair: the first eight
// bytes (little-endian) of the same digest with block = 2^64 − 1.
std::uint64_t draw_layout_seed(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair,
                               std::uint64_t attempt);

// The `pair` field of the coin: A/A pairs count from 0 and measured pairs go on after them;
// control pairs start at 2^32 and warm-up pairs at 2^33, so that no two pairs share coins.
std::uint64_t coin_index(const Spec& spec, PairKind kind, int number);

// An empty pair with its coins drawn.
Pair draw_pair(const Spec& spec, int coins_per_pair, std::uint64_t seed, int gate, PairKind kind,
               int number, int attempt);
std::uint64_t layout_seed_of(const Spec& spec, std::uint64_t seed, const Pair& pair);
// The arm that is opened first in a duet's process, 'A' or 'B': the layout seed's lowest bit.
char opens_first(std::uint64_t layout_seed);

// Every pair that may run, first tries only, in order of measurement: for each measurement its A/A
// pairs, those with the layout control, then its pairs up to the cap.
std::vector<Pair> make_schedule(const Spec& spec, const Plan& plan, std::uint64_t seed);

}  // namespace steady
