// The wording of verdicts. Kept apart from the rules, so that a sentence can be improved without
// touching a decision.
#include "runner/judge/analysis_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/base/metrics.h"
#include "runner/spec/spec_command.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {

int exit_code(Verdict verdict) {
    switch (verdict) {
        case Verdict::accept:
            return 0;
        case Verdict::reject:
            return 10;
        case Verdict::inconclusive:
            return 11;
        case Verdict::invalid:
            return 12;
    }
    return 1;
}

const char* name(Verdict verdict) {
    switch (verdict) {
        case Verdict::accept:
            return "accept";
        case Verdict::reject:
            return "reject";
        case Verdict::inconclusive:
            return "inconclusive";
        case Verdict::invalid:
            return "invalid";
    }
    return "";
}

const char* name(PairKind kind) {
    switch (kind) {
        case PairKind::measure:
            return "measure";
        case PairKind::aa:
            return "aa";
        case PairKind::control:
            return "control";
        case PairKind::warmup:
            return "warmup";
    }
    return "";
}

namespace {

constexpr char kMinus[] = "\u2212";

std::string signed_number(double value, int digits) {
    std::string text = fmt::format("{:.{}f}", std::abs(value), digits);
    const bool zero = text.find_first_not_of("0.") == text.npos;
    return (value < 0 && !zero ? kMinus : "+") + text;
}

bool measures_speed(const std::string& metric) {
    const std::string unit = find_metric(metric).unit;
    return unit == "ns" || unit == "s" || unit.ends_with("/s");
}

std::string with_detail(const std::string& sentence, const std::string& detail) {
    return detail.empty() ? sentence : sentence + ": " + detail;
}

// "`sort -S 1G` is faster than `sort -S 64M`: wall_ns +2.30 % …" or the engine's "B is faster: …".
std::string compared(const Spec& spec, const Analysis& analysis, const char* how,
                     const std::string& numbers) {
    if (!is_outside(spec)) return fmt::format("B is {}: {} {}", how, analysis.metric, numbers);
    return fmt::format("{} is {} than {}: {} {}", arm_label(spec, "B", true), how,
                       arm_label(spec, "A", true), analysis.metric, numbers);
}

std::string reject_sentence(const Spec& spec, const Analysis& analysis, const std::string& detail,
                            const std::string& numbers) {
    const Gate* gate = deciding_gate(spec);
    const bool speed = measures_speed(analysis.metric);
    const std::string b = arm_label(spec, "B", true);
    if (analysis.reason == "wrong_output")
        return with_detail(b + " computes something else", detail);
    if (analysis.reason == "unstable") return with_detail(b + " is unstable", detail);
    if (analysis.reason == "guard_failed") return with_detail(b + " breaks a guard", detail);
    if (analysis.reason == "regression")
        return compared(spec, analysis, speed ? "slower" : "worse", numbers);
    return fmt::format("{} is not worth it: {} {}, a gain of {} or more is refuted", b,
                       analysis.metric, numbers,
                       percent(gate == nullptr ? 0 : gate->floor + gate->worth));
}

std::string inconclusive_sentence(const Spec& spec, const Analysis& analysis,
                                  const std::string& detail, const std::string& numbers) {
    if (analysis.reason == "machine_too_noisy")
        return with_detail("This machine cannot tell", detail);
    if (analysis.reason == "micro_only")
        return with_detail(
            is_outside(spec) ? "No gate decided" : "Nothing below the full model may accept",
            detail);
    std::string sentence = fmt::format("No decision: {} {}", analysis.metric, numbers);
    if (!detail.empty()) sentence += "; " + detail;
    const Gate* gate = deciding_gate(spec);
    if (gate != nullptr && analysis.effect && std::abs(*analysis.effect) > 1e-9 &&
        analysis.sigma_d > 0)
        sentence += fmt::format(
            "; an effect of this size needs about {:.0f} pairs",
            std::max(10.0, pairs_needed(analysis.sigma_d, std::abs(std::log1p(*analysis.effect)))));
    return sentence;
}

}  // namespace

std::string percent(double share, int digits) { return signed_number(100 * share, digits) + " %"; }

std::string interval_text(const Interval& interval) {
    if (!interval.low && !interval.high) return "(no interval yet)";
    return fmt::format("[{}, {}] %", interval.low ? signed_number(100 * *interval.low, 2) : "−∞",
                       interval.high ? signed_number(100 * *interval.high, 2) : "+∞");
}

std::string effect_text(const std::optional<double>& effect, const Interval& interval, int pairs) {
    if (!effect || pairs == 0) return "no pairs";
    return fmt::format("{} {} over {} pair{}", percent(*effect), interval_text(interval), pairs,
                       pairs == 1 ? "" : "s");
}

std::string verdict_sentence(const Spec& spec, const Analysis& analysis,
                             const std::string& detail) {
    const std::string numbers = effect_text(analysis.effect, analysis.interval, analysis.pairs);
    std::string sentence;
    switch (analysis.verdict) {
        case Verdict::accept:
            sentence =
                analysis.reason == "shown_equivalent"
                    ? fmt::format("{} is as good as {}: {} {}", arm_label(spec, "B", true),
                                  arm_label(spec, "A", true), analysis.metric, numbers)
                    : compared(spec, analysis,
                               measures_speed(analysis.metric) ? "faster" : "better", numbers);
            break;
        case Verdict::reject:
            sentence = reject_sentence(spec, analysis, detail, numbers);
            break;
        case Verdict::inconclusive:
            sentence = inconclusive_sentence(spec, analysis, detail, numbers);
            break;
        case Verdict::invalid:
            sentence = with_detail("This run says nothing", detail);
            break;
    }
    if (!analysis.contradiction.empty())
        sentence += "; the levels contradict each other: " + analysis.contradiction;
    return sentence + ".";
}

std::string level_contradiction(const Spec& spec, const Analysis& analysis) {
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr || !analysis.effect) return "";
    const double model = *analysis.effect;
    for (const GateResult& lower : analysis.gates) {
        if (lower.level != Level::micro && lower.level != Level::block) continue;
        if (!lower.effect) continue;
        const bool better = lower.interval.low && *lower.interval.low > 0;
        const bool worse = lower.interval.high && *lower.interval.high < 0;
        const bool model_better = analysis.verdict == Verdict::accept;
        const bool model_worse = analysis.verdict == Verdict::reject && model < 0;
        if ((better && model_worse) || (worse && model_better))
            return fmt::format("{} {}, model {}", name(lower.level), percent(*lower.effect, 1),
                               percent(model, 1));
    }
    return "";
}

}  // namespace steady
