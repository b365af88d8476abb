// From the raw values of one pair to one number: the steady part of both arms, whether the pair
// can be used, and the log ratio of a metric. Every rule here treats the two arms alike.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/metrics.h"
#include "runner/plan/plan.h"
#include "runner/plan/sample.h"
#include "runner/spec/spec.h"
#include "runner/statistics/statistics.h"
#include "runner/statistics/steady_state.h"

namespace steady {

// Which series a metric of this experiment is computed from; an outside program's metrics are what
// its adapter calls them.
std::string raw_metric(const Spec& spec, const std::string& metric);

struct PairQuality {
    bool valid = false;
    std::string reason;  // why not; empty when valid
    // When the pair is invalid: the reason was seen on one arm alone.
    bool only_a = false, only_b = false;
    bool matched = false;                  // a duet: index i of both arms is the same position
    std::size_t start_a = 0, start_b = 0;  // first steady value of each arm
};

// Judges the raw series of a pair. In a duet both arms share one start, found on the interleaved
// stream; a drift that both arms share (the same positions, the same growing cache) is taken out
// first.
PairQuality assess_pair(const Pair& pair, const std::string& raw, const ScheduleSpec& schedule);

// ln t_A − ln t_B of a time, ln r_B − ln r_A of a rate; positive: B is better. Absent when either
// arm has no positive value.
std::optional<double> pair_value(const Pair& pair, const std::string& metric,
                                 const PairQuality& quality);

// The pair's value for a gate of an outside program: its own statistic and direction. Zero is a
// value: two are equal, and zero against more counts as a factor of e.
std::optional<double> command_value(const Pair& pair, const Gate& gate, const PairQuality& quality);
// The statistic of a gate of an outside program.
double run_statistic(Values values, const std::string& stat);

// One measurement's pairs of one kind, sorted by number and attempt.
struct MeasuredPairs {
    struct One {
        const Pair* pair = nullptr;
        PairQuality quality;
    };
    std::vector<One> all;           // every sealed try
    std::vector<const One*> valid;  // the usable try of each number, in order
    int n_discarded = 0, n_noisy = 0, n_only_a = 0, n_only_b = 0;  // n_noisy: of n_discarded
    int next_number = 0, next_attempt = 0;                         // what would be measured next

    MeasuredPairs() = default;
    MeasuredPairs(const MeasuredPairs&) = delete;
    MeasuredPairs& operator=(const MeasuredPairs&) = delete;
    MeasuredPairs(MeasuredPairs&&) = default;
    MeasuredPairs& operator=(MeasuredPairs&&) = default;

    std::vector<double> values(const std::string& metric) const;
    std::optional<double> value_of(const One& one, const std::string& metric) const;
    // Of the pairs that have a value: ln of the geometric mean of both arms' times, which
    // exchanging the arms leaves as it is. Empty where the metric is no speed.
    std::vector<double> slowness(const std::string& metric) const;

    // Outside programs: the measurement's gates, each with its statistic and direction.
    std::vector<const Gate*> command_gates;
};

constexpr int kMaxTries = 3;  // a pair that cannot be used is repeated at most twice
// How the reason of a pair begins that was dropped for what other programs did in its window.
inline constexpr char kNoiseReason[] = "noise: ";

MeasuredPairs collect_pairs(const Spec& spec, const std::vector<Pair>& pairs,
                            const Measurement& measurement, PairKind kind);

}  // namespace steady
