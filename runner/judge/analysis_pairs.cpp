// Warm-up and validity of pairs. A pair is dropped whole or not at all: dropping one arm would
// favour whichever arm fails more quietly.
#include "runner/judge/analysis_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/spec/spec_command.h"
#include "runner/statistics/change_points.h"
#include "runner/statistics/statistics.h"

namespace steady {

namespace {

constexpr std::size_t kFewestForDetection = 16;  // values of one arm
constexpr double kShortRunDrift = 1.10;

const std::vector<double>* series(const std::map<std::string, std::vector<double>>& arm,
                                  const std::string& metric) {
    const auto found = arm.find(metric);
    return found == arm.end() || found->second.empty() ? nullptr : &found->second;
}

std::vector<double> logs(const std::vector<double>& y) {
    std::vector<double> x;
    for (double value : y) x.push_back(std::log(value));
    return x;
}

bool all_positive(const std::vector<double>& y) {
    return std::all_of(y.begin(), y.end(), [](double v) { return v > 0 && std::isfinite(v); });
}

bool all_values(const std::vector<double>& y) {
    return std::all_of(y.begin(), y.end(), [](double v) { return v >= 0 && std::isfinite(v); });
}

// The slope that both arms share, log units per token: the smaller of the two when they agree in
// sign, else none. At the same positions both meet the same growing cache.
double common_slope(Values a, Values b) {
    const double slope_a = theil_sen(a), slope_b = theil_sen(b);
    if (slope_a * slope_b <= 0) return 0;
    return std::abs(slope_a) < std::abs(slope_b) ? slope_a : slope_b;
}

struct LogArms {
    std::vector<double> a, b;
};

// Log values of both arms without the common slope of the second half, each centred on its median
// over [begin, …).
LogArms level_arms(const std::vector<double>& y_a, const std::vector<double>& y_b,
                   std::size_t begin) {
    LogArms x{logs(y_a), logs(y_b)};
    const double slope =
        common_slope(Values(x.a).subspan(x.a.size() / 2), Values(x.b).subspan(x.b.size() / 2));
    for (std::vector<double>* arm : {&x.a, &x.b}) {
        for (std::size_t i = 0; i < arm->size(); ++i) (*arm)[i] -= slope * real(i);
        const double centre = median(Values(*arm).subspan(std::min(begin, arm->size() - 1)));
        for (double& value : *arm) value -= centre;
    }
    return x;
}

// The duet's stream in order of measurement.
std::vector<double> interleave(const LogArms& x, const std::string& coins, std::size_t chunk) {
    std::vector<double> stream;
    for (std::size_t block = 0; block < coins.size(); ++block) {
        const bool a_first = coins[block] == '0';
        for (const bool first : {true, false}) {
            const std::vector<double>& arm = (a_first == first) ? x.a : x.b;
            for (std::size_t i = block * chunk; i < (block + 1) * chunk && i < arm.size(); ++i)
                stream.push_back(arm[i]);
        }
    }
    return stream;
}

struct Trouble {
    std::string what;  // empty: none
    std::size_t start = 0;
};

// Classification of one levelled log series; `planned` values at its begin are warm-up anyway.
Trouble inspect(Values x, std::size_t planned, std::size_t need) {
    SteadyOptions options;
    options.need = need;
    const SteadyState state = classify_steady_state(x, options);
    if (state.start <= planned) return {"", planned};
    const bool good = state.cls == SteadyClass::warmup || state.cls == SteadyClass::flat;
    return {good ? "" : name(state.cls), state.start};
}

// Drift of a steady part beyond the slope that both arms share.
std::string drift_trouble(Values steady, double slope) {
    const SteadyOptions options;
    std::vector<double> x(steady.begin(), steady.end());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= slope * real(i);
    if (kendall_p(x) >= options.drift_p) return "";
    return std::abs(theil_sen(x) * real(x.size() - 1)) >= options.drift_min ? "drifting" : "";
}

void blame(PairQuality& quality, const std::string& a, const std::string& b) {
    quality.valid = a.empty() && b.empty();
    quality.only_a = !a.empty() && b.empty();
    quality.only_b = a.empty() && !b.empty();
    if (quality.valid) return;
    if (quality.only_a)
        quality.reason = "A: " + a;
    else if (quality.only_b)
        quality.reason = "B: " + b;
    else
        quality.reason = a == b ? "both arms: " + a : fmt::format("A: {}, B: {}", a, b);
}

// In a duet noise affects both arms at the same positions in random order, so a stream that is not
// stationary widens the interval but adds no bias: the pair counts. Detection only moves the common
// start later; where it finds no steady part the planned warm-up is the start.
void assess_duet(PairQuality& quality, const LogArms& x, const std::string& coins,
                 const ScheduleSpec& schedule) {
    const auto chunk = static_cast<std::size_t>(std::max(1, schedule.chunk));
    const std::size_t n = x.a.size();
    const auto planned = static_cast<std::size_t>(std::max(0, schedule.warmup_tokens));
    const std::size_t need = 2 * std::min<std::size_t>(16, n - std::min(n, planned));
    const Trouble stream = inspect(interleave(x, coins, chunk), 2 * planned, need);
    const std::size_t block = (stream.start + 2 * chunk - 1) / (2 * chunk);
    const std::size_t detected = stream.what.empty() ? block * chunk : planned;
    quality.start_a = quality.start_b = std::min(n - 1, std::max(planned, detected));
    if (quality.start_a + 8 > n) quality.start_a = quality.start_b = std::min(n / 2, planned);
    quality.valid = quality.matched = true;
}

void assess_alone(PairQuality& quality, const LogArms& x, const ScheduleSpec& schedule) {
    const auto find = [&](const std::vector<double>& arm) {
        const auto planned =
            std::min(static_cast<std::size_t>(std::max(0, schedule.warmup_tokens)), arm.size() / 2);
        return inspect(arm, planned, std::min<std::size_t>(16, arm.size() - planned));
    };
    Trouble a = find(x.a), b = find(x.b);
    quality.start_a = std::min(a.start, x.a.size() - 1);
    quality.start_b = std::min(b.start, x.b.size() - 1);
    const Values tail_a = Values(x.a).subspan(quality.start_a);
    const Values tail_b = Values(x.b).subspan(quality.start_b);
    const double slope = common_slope(tail_a, tail_b);
    if (a.what.empty()) a.what = drift_trouble(tail_a, slope);
    if (b.what.empty()) b.what = drift_trouble(tail_b, slope);
    blame(quality, a.what, b.what);
}

std::string short_run_trouble(const std::vector<double>& y) {
    return y.size() >= 3 && y.back() / y.front() > kShortRunDrift ? "drifting" : "";
}

}  // namespace

std::string raw_metric(const Spec& spec, const std::string& metric) {
    return is_outside(spec) ? metric : raw_metric(metric);
}

PairQuality assess_pair(const Pair& pair, const std::string& raw, const ScheduleSpec& schedule) {
    PairQuality quality;
    if (!pair.discarded.empty()) {
        quality.reason = pair.discarded;
        quality.only_a = pair.discarded.rfind("A: ", 0) == 0;
        quality.only_b = pair.discarded.rfind("B: ", 0) == 0;
        return quality;
    }
    const std::vector<double>* a = series(pair.a, raw);
    const std::vector<double>* b = series(pair.b, raw);
    if (a == nullptr || b == nullptr) {
        quality.reason = fmt::format("no {} of {}", raw, a == nullptr ? "A" : "B");
        return quality;
    }
    const bool positive = all_positive(*a) && all_positive(*b);
    const bool few = std::min(a->size(), b->size()) < kFewestForDetection;
    if (schedule.mode == Mode::lockstep) {
        // Warm-up turns are left out and neighbours in time are compared: nothing to detect.
        quality.valid = all_values(*a) && all_values(*b);
        quality.matched = positive && a->size() == b->size();
        if (!quality.valid) quality.reason = fmt::format("{} holds a value below zero", raw);
        return quality;
    }
    if (schedule.whole_runs && (few || !positive)) {
        quality.valid = all_values(*a) && all_values(*b);
        if (!quality.valid) quality.reason = fmt::format("{} holds a value below zero", raw);
        return quality;
    }
    if (!positive) {
        quality.reason = fmt::format("{} holds a value that is not positive", raw);
        return quality;
    }
    if (few) {
        blame(quality, short_run_trouble(*a), short_run_trouble(*b));
        return quality;
    }
    const auto planned = static_cast<std::size_t>(std::max(0, schedule.warmup_tokens));
    const bool duet = schedule.mode == Mode::duet && a->size() == b->size();
    const std::size_t begin = std::min(planned, std::min(a->size(), b->size()) / 2);
    const LogArms x = level_arms(*a, *b, begin);
    if (duet)
        assess_duet(quality, x, pair.coins, schedule);
    else
        assess_alone(quality, x, schedule);
    return quality;
}

namespace {

std::optional<double> arm_value(const std::map<std::string, std::vector<double>>& arm,
                                const std::string& metric, std::size_t start) {
    if (const std::vector<double>* direct = series(arm, metric)) {
        const bool many = direct->size() >= kFewestForDetection;
        return median(Values(*direct).subspan(many ? std::min(start, direct->size() - 1) : 0));
    }
    const std::vector<double>* raw = series(arm, raw_metric(metric));
    if (raw == nullptr) return std::nullopt;
    const Values steady = Values(*raw).subspan(std::min(start, raw->size() - 1));
    switch (find_metric(metric).aggregation) {
        case Aggregation::p90:
            return quantile(steady, 0.90);
        case Aggregation::p10:
            return quantile(steady, 0.10);
        case Aggregation::mean:
            return mean(steady);
        case Aggregation::median:
            break;
    }
    return median(steady);
}

// Index i of both arms is the same position, measured within a few tokens of each other: what the
// machine did in between falls out of each ratio. Swapping the arms negates the median, so the coin
// argument holds as for the ratio of the arms' medians, at half the spread (runner/README.md).
double matched_log_ratio(Values a, Values b, std::size_t start) {
    std::vector<double> ratios;
    for (std::size_t i = start; i < std::min(a.size(), b.size()); ++i)
        ratios.push_back(std::log(a[i]) - std::log(b[i]));
    return median(ratios);
}

bool is_median(const std::string& metric) {
    return find_metric(metric).aggregation == Aggregation::median;
}

}  // namespace

std::optional<double> pair_value(const Pair& pair, const std::string& metric,
                                 const PairQuality& quality) {
    if (quality.matched && is_median(metric)) {
        const std::vector<double>* in_a = series(pair.a, raw_metric(metric));
        const std::vector<double>* in_b = series(pair.b, raw_metric(metric));
        if (in_a != nullptr && in_b != nullptr && in_a->size() > quality.start_a &&
            in_a->size() == in_b->size())
            return matched_log_ratio(*in_a, *in_b, quality.start_a);
    }
    const auto a = arm_value(pair.a, metric, quality.start_a);
    const auto b = arm_value(pair.b, metric, quality.start_b);
    if (!a || !b || !(*a > 0) || !(*b > 0)) return std::nullopt;
    // decode_tps comes from times unless an outside program reports the rate itself.
    const bool rate = higher_is_better(metric) && pair.a.count(metric) > 0;
    return rate ? std::log(*b) - std::log(*a) : std::log(*a) - std::log(*b);
}

double run_statistic(Values values, const std::string& stat) {
    if (stat == "mean") return mean(values);
    if (stat == "min") return *std::min_element(values.begin(), values.end());
    if (stat == "max") return *std::max_element(values.begin(), values.end());
    return median(values);
}

namespace {

constexpr double kZeroAgainstMore = 1;  // log units

double steady_statistic(const std::vector<double>& values, const Gate& gate, std::size_t start) {
    const bool many = values.size() >= kFewestForDetection;
    return run_statistic(Values(values).subspan(many ? std::min(start, values.size() - 1) : 0),
                         gate.stat);
}

}  // namespace

std::optional<double> command_value(const Pair& pair, const Gate& gate,
                                    const PairQuality& quality) {
    const std::vector<double>* in_a = series(pair.a, gate.metric);
    const std::vector<double>* in_b = series(pair.b, gate.metric);
    if (in_a == nullptr || in_b == nullptr) return std::nullopt;
    const bool usual = gate.stat.empty() || gate.stat == "median";
    if (quality.matched && usual && in_a->size() == in_b->size() && all_positive(*in_a) &&
        all_positive(*in_b)) {
        const double ratio = matched_log_ratio(*in_a, *in_b, quality.start_a);
        return higher_is_better(gate) ? -ratio : ratio;
    }
    const double a = steady_statistic(*in_a, gate, quality.start_a);
    const double b = steady_statistic(*in_b, gate, quality.start_b);
    const double less = a > 0 && b > 0 ? std::log(a) - std::log(b)
                        : a > 0        ? kZeroAgainstMore
                        : b > 0        ? -kZeroAgainstMore
                                       : 0;
    return higher_is_better(gate) ? -less : less;
}

std::optional<double> MeasuredPairs::value_of(const One& one, const std::string& metric) const {
    for (const Gate* gate : command_gates)
        if (gate->metric == metric) return command_value(*one.pair, *gate, one.quality);
    return pair_value(*one.pair, metric, one.quality);
}

std::vector<double> MeasuredPairs::values(const std::string& metric) const {
    std::vector<double> d;
    for (const One* one : valid)
        if (const auto value = value_of(*one, metric)) d.push_back(*value);
    return d;
}

std::vector<double> MeasuredPairs::slowness(const std::string& metric) const {
    const std::string unit = find_metric(metric).unit;
    const bool rate = unit.ends_with("/s");
    if (!rate && unit != "ns" && unit != "s") return {};
    std::vector<double> out;
    for (const One* one : valid) {
        if (!value_of(*one, metric)) continue;
        const auto a = arm_value(one->pair->a, metric, one->quality.start_a);
        const auto b = arm_value(one->pair->b, metric, one->quality.start_b);
        if (!a || !b || !(*a > 0) || !(*b > 0)) return {};
        // The engine's rate comes from times.
        const bool direct = series(one->pair->a, metric) != nullptr;
        out.push_back((rate && direct ? -0.5 : 0.5) * (std::log(*a) + std::log(*b)));
    }
    return out;
}

MeasuredPairs collect_pairs(const Spec& spec, const std::vector<Pair>& pairs,
                            const Measurement& measurement, PairKind kind) {
    MeasuredPairs result;
    const std::string& metric = spec.gates[static_cast<std::size_t>(measurement.owner)].metric;
    for (const Pair& pair : pairs) {
        if (pair.gate != measurement.owner || pair.kind != kind || !pair.sealed) continue;
        const std::string raw = raw_metric(spec, metric);
        const bool direct = pair.a.count(metric) > 0 && pair.a.count(raw) == 0;
        result.all.push_back({&pair, assess_pair(pair, direct ? metric : raw, spec.schedule)});
    }
    if (is_outside(spec))
        for (const int gate : measurement.gates)
            result.command_gates.push_back(&spec.gates[static_cast<std::size_t>(gate)]);
    std::stable_sort(result.all.begin(), result.all.end(), [](const auto& x, const auto& y) {
        return std::pair(x.pair->number, x.pair->attempt) <
               std::pair(y.pair->number, y.pair->attempt);
    });
    int valid_number = -1;
    for (const MeasuredPairs::One& one : result.all) {
        if (one.quality.valid && one.pair->number != valid_number) {
            result.valid.push_back(&one);
            valid_number = one.pair->number;
        }
        if (!one.quality.valid) {
            ++result.n_discarded;
            result.n_noisy += one.quality.reason.rfind(kNoiseReason, 0) == 0;
            result.n_only_a += one.quality.only_a;
            result.n_only_b += one.quality.only_b;
        }
        const bool again = !one.quality.valid && one.pair->attempt + 1 < kMaxTries;
        result.next_number = again ? one.pair->number : one.pair->number + 1;
        result.next_attempt = again ? one.pair->attempt + 1 : 0;
    }
    return result;
}

}  // namespace steady
