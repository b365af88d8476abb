// Whether both arms ran at the same clocks of the GPU, and whether the GPU lowered them. The engine
// reads them after each chunk; they are stored with the pair. Shown beside the verdict; they take
// none back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/plan/sample.h"
#include "runner/spec/spec.h"

namespace steady {

// Series that an executor stores with a pair, a value per chunk of each arm. Stored values are
// above zero, so reasons are stored as 1 + NVML's bits.
inline constexpr char kSmClock[] = "sm_clock_mhz";
inline constexpr char kMemoryClock[] = "memory_clock_mhz";
inline constexpr char kClockReasons[] = "clock_reasons";
std::vector<double> stored_reasons(const std::vector<std::int64_t>& reasons);

struct ClockRange {
    double lowest = 0, median = 0, highest = 0;  // MHz, of all chunks
};

struct ArmClocks {
    ClockRange sm, memory;
    // Chunks at whose end the GPU said that it holds its clocks down, as a share, and its reasons.
    double lowered = 0;
    std::int64_t reasons = 0;  // NVML's bits, of all chunks together
};

struct ClockReport {
    std::optional<ArmClocks> a, b;  // nothing for an arm on the CPU
    int pairs = 0;                  // that hold clocks
    // B's SM clock against A's, a fraction: the median over pairs. Nothing where an arm is on the
    // CPU.
    std::optional<double> change;
    bool differ = false;     // by more than half of what is worth having
    bool throttled = false;  // for heat, power supply or by the hardware
};

// Of the measured chunks of these pairs, without warm-up. Nothing when none of them holds clocks.
// matters: log effect worth having.
std::optional<ClockReport> clock_report(const Spec& spec, const std::vector<const Pair*>& pairs,
                                        double matters);

// "power limit, heat"; empty for none.
std::string reason_words(std::int64_t reasons);

// "1965 to 1980 MHz, median 1980"; "1980 MHz" when they never changed.
std::string range_words(const ClockRange& range);

// What is worth a caution: that clocks differ, that the GPU was throttled. Empty for neither.
std::string caution_words(const ClockReport& report);

// The whole of it in one line, for the table of checks.
std::string clock_words(const ClockReport& report);

}  // namespace steady
