// Numbers and verdicts as text. One sentence must be enough for a reader who reads nothing else.
#pragma once

#include <string>

#include "runner/judge/analysis.h"

namespace steady {

// "+2.31 %", "−0.40 %"; share: a fraction. A true minus sign, so that columns line up.
std::string percent(double share, int digits = 2);
// "[+1.80, +2.90] %", "–" for an open end.
std::string interval_text(const Interval& interval);
// "+2.31 % [+1.80, +2.90] % over 9 pairs", or "no pairs".
std::string effect_text(const std::optional<double>& effect, const Interval& interval, int pairs);

// The whole verdict. detail: the reason's own sentence (what failed, what was missing).
std::string verdict_sentence(const Spec& spec, const Analysis& analysis, const std::string& detail);

// When a lower level and the model level point in opposite directions: "micro +42.0 %, model
// −6.7 %"; empty otherwise.
std::string level_contradiction(const Spec& spec, const Analysis& analysis);

}  // namespace steady
