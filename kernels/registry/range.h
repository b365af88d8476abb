// The part of an op that one call computes. The caller (engine, check, bench) cuts an op's rows
// among threads; the kernels themselves never start a thread.
#pragma once

#include <cstdint>

namespace steady {

// Rows [begin, end) of one phase. A phase starts only when the phase before it is complete; within
// a phase, ranges are independent, so that cutting never changes a bit of the result.
struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    int phase = 0;
};

// As a variant's granule: its phases are never cut.
constexpr std::int64_t kWhole = INT64_MAX;

}  // namespace steady
