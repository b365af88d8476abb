// Speed changes at most in proportion to the clock, so a difference of clocks below half of what is
// worth having cannot make a verdict by itself.
#include "runner/judge/gpu_clocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runner/judge/analysis_text.h"
#include "runner/statistics/statistics.h"

namespace steady {
namespace {

// NVML's clocks event reasons that hold a clock below what it could be. Idleness and the clocks
// that somebody set do not lower it by themselves while it works.
constexpr std::array<std::pair<std::int64_t, const char*>, 7> kReasons = {{
    {0x04, "power limit"},
    {0x08, "hardware slowdown"},
    {0x10, "held to the clock of other GPUs"},
    {0x20, "heat"},
    {0x40, "heat, by the hardware"},
    {0x80, "power supply"},
    {0x02, "clocks that somebody set"},
}};
constexpr std::int64_t kLowering = 0x04 | 0x08 | 0x10 | 0x20 | 0x40 | 0x80;
constexpr std::int64_t kThrottling = 0x08 | 0x20 | 0x40 | 0x80;

using Series = std::map<std::string, std::vector<double>>;

// The series of one arm's measured chunks; empty when the pair does not hold it.
Values measured(const Series& arm, const char* name, const ScheduleSpec& schedule) {
    const auto found = arm.find(name);
    if (found == arm.end()) return {};
    const auto warm =
        static_cast<std::size_t>(schedule.warmup_tokens / std::max(1, schedule.chunk));
    return Values(found->second).subspan(std::min(warm, found->second.size()));
}

struct Gathered {
    std::vector<double> sm, memory;
    std::size_t lowered = 0, n = 0;
    std::int64_t reasons = 0;

    void add(const Series& arm, const ScheduleSpec& schedule) {
        for (const double mhz : measured(arm, kSmClock, schedule)) sm.push_back(mhz);
        for (const double mhz : measured(arm, kMemoryClock, schedule)) memory.push_back(mhz);
        for (const double stored : measured(arm, kClockReasons, schedule)) {
            const std::int64_t bits = std::llround(stored) - 1;
            reasons |= bits;
            lowered += (bits & kLowering) != 0 ? 1 : 0;
            ++n;
        }
    }
    static ClockRange range(Values values) {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        return {*low, median(values), *high};
    }
    ArmClocks arm() const {
        return {range(sm), range(memory), n > 0 ? real(lowered) / real(n) : 0, reasons};
    }
};

std::string share_words(const ArmClocks& arm) {
    return arm.lowered > 0 ? fmt::format("{:.0f} % of its chunks ({})", 100 * arm.lowered,
                                         reason_words(arm.reasons & kLowering))
                           : "none of its chunks";
}

}  // namespace

std::vector<double> stored_reasons(const std::vector<std::int64_t>& reasons) {
    std::vector<double> out;
    for (const std::int64_t bits : reasons) out.push_back(static_cast<double>(bits) + 1);
    return out;
}

std::optional<ClockReport> clock_report(const Spec& spec, const std::vector<const Pair*>& pairs,
                                        double matters) {
    const auto on_gpu = [&](const char* letter) {
        const auto arm = spec.arms.find(letter);
        return arm != spec.arms.end() && !gpu_device(arm->second).empty();
    };
    const bool a_runs = on_gpu("A"), b_runs = on_gpu("B");
    Gathered a, b;
    std::vector<double> changes;
    ClockReport report;
    for (const Pair* pair : pairs) {
        const Values sm_a = measured(pair->a, kSmClock, spec.schedule);
        const Values sm_b = measured(pair->b, kSmClock, spec.schedule);
        if (sm_a.empty() || sm_b.empty()) continue;
        ++report.pairs;
        a.add(pair->a, spec.schedule);
        b.add(pair->b, spec.schedule);
        changes.push_back(std::log(mean(sm_b) / mean(sm_a)));
    }
    if (report.pairs == 0 || (!a_runs && !b_runs)) return std::nullopt;
    if (a_runs) report.a = a.arm();
    if (b_runs) report.b = b.arm();
    if (a_runs && b_runs) {
        const double change = median(changes);
        report.change = std::expm1(change);
        report.differ = std::abs(change) > matters / 2;
    }
    const std::int64_t seen = (a_runs ? a.reasons : 0) | (b_runs ? b.reasons : 0);
    report.throttled = (seen & kThrottling) != 0;
    return report;
}

std::string reason_words(std::int64_t reasons) {
    std::string out;
    for (const auto& [bit, words] : kReasons) {
        if ((reasons & bit) != 0) out += (out.empty() ? "" : ", ") + std::string(words);
    }
    return out;
}

std::string range_words(const ClockRange& range) {
    if (range.lowest == range.highest) return fmt::format("{:.0f} MHz", range.median);
    return fmt::format("{:.0f} to {:.0f} MHz, median {:.0f}", range.lowest, range.highest,
                       range.median);
}

std::string caution_words(const ClockReport& report) {
    std::string out;
    if (report.differ) {
        out = fmt::format(
            "B's SM clock differs from A's by {}, more than half of what is worth having: part of "
            "the effect may be the clock's",
            percent(*report.change));
    }
    if (report.throttled) {
        std::int64_t reasons = 0;
        for (const auto* arm : {&report.a, &report.b}) reasons |= *arm ? (*arm)->reasons : 0;
        out += fmt::format("{}the GPU was throttled: {}", out.empty() ? "" : "; ",
                           reason_words(reasons & kThrottling));
    }
    return out;
}

std::string clock_words(const ClockReport& report) {
    std::string out;
    for (const auto& [letter, arm] : {std::pair{"A", &report.a}, {"B", &report.b}}) {
        if (!*arm) continue;
        out +=
            fmt::format("{}{}: SM {}, memory {}, lowered in {}", out.empty() ? "" : "; ", letter,
                        range_words((*arm)->sm), range_words((*arm)->memory), share_words(**arm));
    }
    const std::string caution = caution_words(report);
    return out + (caution.empty() ? "" : "; " + caution);
}

}  // namespace steady
