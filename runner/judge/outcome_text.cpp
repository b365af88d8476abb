// Each sentence states the estimate with its interval and what the interval excludes, nothing more.
#include "runner/judge/outcome_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/base/metrics.h"
#include "runner/judge/analysis_text.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

bool speaks_of_speed(const std::string& metric) {
    const std::string unit = find_metric(metric).unit;
    return unit == "ns" || unit == "s" || unit.ends_with("/s");
}

// "B is faster", or with an outside program's own names "`x` is faster than `y`".
std::string comparison(const Spec& spec, const Analysis& analysis, const char* faster,
                       const char* better) {
    const char* how = speaks_of_speed(analysis.metric) ? faster : better;
    if (spec.subject.program == "steady-engine") return fmt::format("B is {}", how);
    return fmt::format("{} is {} than {}", arm_label(spec, "B"), how, arm_label(spec, "A"));
}

// Sizes that are asked for carry no sign: "1 %".
std::string size_of(double fraction) { return fmt::format("{:g} %", 100 * fraction); }

// A size that is only the stand-in for a ratio that there is not must not be read as one.
bool without_ratio(const Analysis& analysis) {
    return std::any_of(analysis.checks.begin(), analysis.checks.end(),
                       [](const Check& check) { return check.name == "zeros"; });
}

constexpr char kWithoutRatio[] =
    "; zero against more has no ratio, so read the direction, not the size.";

// Accepted although the interval covers the floor: an exact look has a larger part of alpha than
// the evidence that the interval is made from.
bool shown_by_a_look(const Gate& gate, const Analysis& analysis) {
    const bool look = analysis.why == "interim" || analysis.why == "final";
    return look && !(analysis.interval.low && *analysis.interval.low > std::expm1(gate.floor));
}

std::string accepted(const Spec& spec, const Analysis& analysis, const std::string& numbers) {
    std::string text = comparison(spec, analysis, "faster", "better") + ": " + numbers;
    if (without_ratio(analysis)) return text + kWithoutRatio;
    if (analysis.interval.low && *analysis.interval.low > 0) {
        text += fmt::format("; at least {} with 95 % confidence", percent(*analysis.interval.low));
    }
    const Gate& gate = *deciding_gate(spec);
    if (shown_by_a_look(gate, analysis)) {
        text +=
            "; shown by the exact test at a look that the plan had fixed, not by the interval, "
            "which holds after every pair and is therefore wider";
    }
    // Accepted means better than the floor; what would be worth having may lie above the interval's
    // low end.
    const double worth = std::expm1(gate.floor + gate.worth);
    if (gate.worth > 0 && (!analysis.interval.low || *analysis.interval.low < worth)) {
        text +=
            fmt::format("; a gain of {} or more was not shown", size_of(gate.floor + gate.worth));
    }
    return text + ".";
}

std::string regressed(const Spec& spec, const Analysis& analysis, const std::string& numbers) {
    std::string text = comparison(spec, analysis, "slower", "worse") + ": " + numbers;
    if (without_ratio(analysis)) return text + kWithoutRatio;
    if (analysis.interval.high && *analysis.interval.high < 0) {
        text += fmt::format("; {} or worse with 95 % confidence", percent(*analysis.interval.high));
    }
    return text + ".";
}

}  // namespace

std::string outcome_sentence(const Spec& spec, const Analysis& analysis) {
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr || !analysis.effect || analysis.pairs == 0) return analysis.sentence;
    const std::string numbers =
        analysis.metric + " " + effect_text(analysis.effect, analysis.interval, analysis.pairs);
    if (analysis.verdict == Verdict::accept) {
        return analysis.reason == "shown_equivalent"
                   ? fmt::format("{} and {} differ by less than {}: {}.", arm_label(spec, "A"),
                                 arm_label(spec, "B"), size_of(gate->margin), numbers)
                   : accepted(spec, analysis, numbers);
    }
    if (analysis.reason == "regression") return regressed(spec, analysis, numbers);
    if (analysis.reason == "no_worthwhile_gain") {
        return fmt::format("No gain of {} or more was shown: {}.",
                           size_of(gate->floor + gate->worth), numbers);
    }
    if (analysis.why == "guard_open" && gate->goal == Goal::equivalent) {
        return fmt::format(
            "No decision: {}; that A and B differ by less than {} is shown, but a guard could "
            "not be settled.",
            numbers, size_of(gate->margin));
    }
    // With an open guard the effect is shown already: the pairs that it needs are no answer.
    const std::size_t pairs_needed = analysis.sentence.find("; an effect of this size needs");
    if (analysis.why == "guard_open" && pairs_needed != std::string::npos)
        return analysis.sentence.substr(0, pairs_needed) + ".";
    return analysis.sentence;
}

}  // namespace steady
