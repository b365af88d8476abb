// The clock of every measurement: raw monotonic time, which no time service bends while a pair
// runs.
#pragma once

#include <cstdint>
#include <ctime>

namespace steady {

// Nanoseconds since some fixed moment.
inline std::int64_t now_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace steady
