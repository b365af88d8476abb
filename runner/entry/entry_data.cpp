// Arithmetic on a record, and its wording. Callers escape the text for their output.
#include "runner/entry/entry_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/metrics.h"
#include "runner/figures/numbers.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

// "+3.1 %": figures and entry show the same digits.
std::string shown(double fraction, int decimals = 1) {
    return figures::percent(fraction, decimals);
}

std::string text_or(const std::map<std::string, std::string>& map, const std::string& key,
                    const char* absent = "default") {
    const auto found = map.find(key);
    return found == map.end() ? absent : found->second;
}

std::string arm_value(const Spec& spec, const std::string& arm_name, const std::string& path) {
    const auto found = spec.arms.find(arm_name);
    if (found == spec.arms.end()) {
        return "";
    }
    const ArmSpec& arm = found->second;
    const std::size_t dot = path.find('.');
    const std::string head = path.substr(0, dot);
    const std::string tail = dot == std::string::npos ? "" : path.substr(dot + 1);
    if (head == "kernels") {
        return text_or(arm.kernels, tail);
    }
    if (head == "steps") {
        return text_or(arm.steps, tail);
    }
    if (head == "engine_flags") {
        return text_or(arm.engine_flags, tail);
    }
    if (head == "env") {
        return text_or(arm.env, tail, "unset");
    }
    if (head == "threads") {
        const int threads = arm.threads.value_or(spec.subject.threads);
        return threads == 0 ? "all CPUs" : std::to_string(threads);
    }
    if (head == "run") {
        return joined_words(arm.run);
    }
    return head == "rev" ? arm.rev : joined_words(arm.args);
}

std::string bound_words(const Interval& interval) {
    const int decimals =
        interval.low && interval.high ? figures::decimals_for(*interval.high - *interval.low) : 1;
    return fmt::format("{} and {}", interval.low ? shown(*interval.low, decimals) : "−∞",
                       interval.high ? shown(*interval.high, decimals) : "+∞");
}

}  // namespace

std::string weights_words(const Record& record) {
    const auto& applied = record.evidence.applied;
    if (!applied || !applied->engine) return "";
    const auto holds = [&](const char* words) {
        return applied->engine->model_name.find(words) != std::string::npos;
    };
    if (holds("random weights")) return "random";
    if (holds("realistic weights")) return "realistic";
    return "of the model file";
}

std::vector<Difference> differences(const Spec& spec) {
    std::vector<Difference> out;
    for (const std::string& path : arms_difference(spec)) {
        out.push_back({path, arm_value(spec, "A", path), arm_value(spec, "B", path)});
    }
    return out;
}

const char* level_words(const Spec& spec, Level level) {
    if (!is_outside(spec) || level == Level::correctness) {
        return name(level);
    }
    return level == Level::model ? "whole" : "part";
}

std::string effect_words(const std::optional<double>& effect, const Interval& interval) {
    if (!effect) {
        return "—";
    }
    return figures::arrow(interval.low, interval.high) + " " +
           figures::effect_text(effect, interval.low, interval.high);
}

std::string seconds_words(double seconds) {
    if (seconds < 60) {
        return fmt::format("{:.1f} s", seconds);
    }
    const auto whole = static_cast<long>(std::lround(seconds));
    return whole < 3600 ? fmt::format("{}m {:02}s", whole / 60, whole % 60)
                        : fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
}

std::string value_words(const std::string& metric, double value) {
    const std::string unit = find_metric(metric).unit;
    if (unit == "tok/s") {
        return fmt::format("{:.{}f} tok/s", value, value < 100 ? 2 : 1);
    }
    for (const auto& [time_unit, in_ns] :
         {std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6), std::pair("s", 1e9)}) {
        if (unit == time_unit) {
            return figures::duration(value * in_ns);
        }
    }
    if (unit == "bytes") {
        return figures::bytes(value);
    }
    return unit.empty() ? fmt::format("{:.5g}", value) : fmt::format("{:.5g} {}", value, unit);
}

std::string prediction_words(const Record& record) {
    const auto& predict = record.spec.hypothesis.predict;
    if (!predict) {
        return "";
    }
    std::string out = fmt::format("Predicted {} to {} in {}", shown(predict->low),
                                  shown(predict->high), predict->metric);
    if (!record.analysis || record.analysis->prediction.empty()) {
        return out + ".";
    }
    const std::string score = record.analysis->prediction;
    if (!record.analysis->effect) return out + "; no effect was measured.";
    if (score == "no_answer") return out + "; without a decision it is not scored.";
    const int decimals = record.analysis->interval.low && record.analysis->interval.high
                             ? figures::decimals_for(*record.analysis->interval.high -
                                                     *record.analysis->interval.low)
                             : 1;
    return out + fmt::format("; measured {}: {}.", shown(*record.analysis->effect, decimals),
                             score == "inside"  ? "inside the range"
                             : score == "above" ? "above the range"
                                                : "below the range");
}

std::vector<std::string> conclusions(const Record& record) {
    std::vector<std::string> out;
    const Analysis& analysis = *record.analysis;
    const Gate* gate = deciding_gate(record.spec);
    const std::string where =
        is_outside(record.spec) ? std::string("on this machine")
                                : fmt::format("with {} on this machine", record.spec.subject.model);
    const std::string range = bound_words(analysis.interval);
    const auto& prior = record.evidence.prior;
    const std::string earlier =
        prior ? fmt::format("{}", fmt::join(prior->attempts, ", ")) : std::string();
    const std::string worth =
        gate == nullptr ? "" : fmt::format("{:g} %", 100 * (gate->floor + gate->worth));
    switch (analysis.verdict) {
        case Verdict::accept:
            if (!analysis.interval.low && !analysis.interval.high && !earlier.empty()) {
                out.push_back(fmt::format(
                    "These {} pairs are too few for an interval of their own: the evidence of {} "
                    "is counted, too. Its interval stands there.",
                    analysis.pairs, earlier));
            } else {
                out.push_back(
                    fmt::format("The true change in {} lies between {} (95 % confidence) {}.",
                                analysis.metric, range, where));
            }
            out.emplace_back(is_outside(record.spec)
                                 ? "B may replace A."
                                 : "B may become the default; the line that makes it so cites this "
                                   "entry.");
            break;
        case Verdict::reject:
            if (analysis.reason == "regression" || analysis.reason == "no_worthwhile_gain") {
                out.push_back(
                    fmt::format("No gain of {} or more in {} was shown {}: the true change lies "
                                "between {} (95 % confidence).",
                                worth, analysis.metric, where, range));
            } else if (analysis.reason == "wrong_output") {
                out.emplace_back("Speed was not measured, because the output is wrong.");
            } else {
                out.emplace_back("This candidate is rejected; the idea may hold in another form.");
            }
            out.emplace_back("Keep A.");
            break;
        case Verdict::inconclusive:
            out.push_back(
                analysis.effect
                    ? fmt::format("The true change lies between {} (95 % confidence).", range)
                    : std::string("Nothing was shown."));
            out.emplace_back("Keep A; the idea is undecided.");
            if (const auto& predict = record.spec.hypothesis.predict;
                analysis.reason == "machine_too_noisy" && !analysis.effect && gate != nullptr &&
                gate->goal == Goal::gain && predict && predict->low > gate->worth) {
                out.push_back(fmt::format(
                    "The prediction begins at {}: with a worth nearer to it than {}, the question "
                    "needs fewer pairs.",
                    shown(predict->low), worth));
            }
            if (analysis.why != "guard_open" && analysis.effect && *analysis.effect > -1 &&
                analysis.sigma_d > 0) {
                const double ratio = 5 * analysis.sigma_d / std::fabs(std::log1p(*analysis.effect));
                const double needed = std::max(10.0, std::ceil(ratio * ratio));
                if (needed < 1e6) {
                    out.push_back(fmt::format(
                        "On this machine an effect of the measured size, {}, needs about "
                        "{:.0f} pairs.",
                        shown(*analysis.effect, 2), needed));
                }
            }
            break;
        case Verdict::invalid:
            out.emplace_back("No conclusion is possible: fix the cause and run it again.");
            break;
    }
    if (!record.spec.retry_if.empty() && analysis.verdict != Verdict::accept) {
        out.push_back("Try again when: " + record.spec.retry_if + ".");
    }
    return out;
}

}  // namespace steady
