// Loops that only read memory. A machine's read limit is the rate of the fastest of them: which one
// is fastest depends on the CPU's prefetchers and fill buffers, so none can be chosen in advance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry/cpu.h"

namespace steady {

// What the loops are given: whole multiples of this many bytes, aligned to 64.
constexpr std::int64_t kReadGrain = 8192;

struct ReadLoop {
    std::string_view name;  // width, kind of load, prefetch, streams: "512_prefetch_two_streams"
    cpu::Features needs;
    // Reads n bytes, a multiple of kReadGrain; returns what keeps the reads from being removed.
    std::uint64_t (*run)(const std::byte* data, std::int64_t n) noexcept;
};

std::span<const ReadLoop> read_loops();

struct ReadRate {
    std::string_view loop;
    double bytes_per_s = 0;  // best pass
};

// Runs `pass` with each loop that this CPU has, `passes` times in turns, and returns the loops by
// rate, fastest first. `pass` reads `bytes` bytes with the loop, on as many threads as the caller
// measures, and returns its seconds.
std::vector<ReadRate> read_rates(std::int64_t bytes, int passes,
                                 const std::function<double(const ReadLoop&)>& pass);

}  // namespace steady
