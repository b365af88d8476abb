// Measurements of the machine that belong to a pair: the memory read speed now, and the CPU time
// that other programs used. None of them depends on which arm ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/threads/threads.h"

namespace steady {

// Memory in huge pages, every page touched. Error if the system has not that much.
class PageBuffer {
public:
    explicit PageBuffer(std::int64_t bytes);
    ~PageBuffer();
    PageBuffer(const PageBuffer&) = delete;
    PageBuffer& operator=(const PageBuffer&) = delete;
    std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// For read_bytes_per_s: more than caches hold.
constexpr std::int64_t kReadProbeBytes = std::int64_t{1} << 29;

// Bytes per second at which the pool's threads read `memory` with one fixed loop, best of `passes`
// whole passes: for comparing moments. It is no limit; other loops may read faster.
double read_bytes_per_s(ThreadPool& pool, std::span<const std::byte> memory, int passes);

// What memory gives at most: the fastest loop of kernels/registry/read_loops.h, best of `passes`.
struct ReadLimit {
    double gb_per_s = 0;
    std::string loop;
};
ReadLimit read_limit(ThreadPool& pool, std::span<const std::byte> memory, int passes);

// CPU time since boot, in seconds, from /proc/stat; own is this process's.
struct CpuTimes {
    double busy = 0, steal = 0, own = 0;
    std::int64_t at_ns = 0;
};
CpuTimes cpu_times();

struct CpuShares {
    double steal = 0;        // of wall time × CPUs
    double busy_others = 0;  // other processes
};
CpuShares cpu_shares(const CpuTimes& begin, const CpuTimes& end);

// Involuntary switches and major faults of the process so far.
struct Disturbances {
    std::int64_t involuntary_switches = 0, major_faults = 0;
};
Disturbances disturbances();

}  // namespace steady
