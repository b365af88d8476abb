// What the GPU's memory gives at most, by the kernel that only reads.
#pragma once

#include <cstdint>

#include "kernels/runtime/gpu.h"

namespace steady::gpu {

// GB/s: the best of five passes over 2 GiB, more than any cache holds. The GPU in use.
inline double read_limit_gb_per_s() {
    constexpr std::int64_t kBytes = std::int64_t{1} << 31;
    void* memory = allocate(kBytes);
    fill_zero(memory, kBytes);
    const double bytes_per_s = read_bytes_per_s(memory, kBytes, 5);
    release(memory);
    return bytes_per_s / 1e9;
}

}  // namespace steady::gpu
