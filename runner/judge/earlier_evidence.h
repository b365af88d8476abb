// What an earlier attempt at the same question adds to a new one. Attempts share a question whose
// thresholds may differ: evidence against "at most 1 %" says nothing against "at most 2 %".
#pragma once

#include "runner/judge/analysis.h"

namespace steady {

struct EarlierEvidence {
    double log_e_accept = 0, log_e_reject = 0;
};

// own: the earlier deciding gate's log E over its own pairs. What speaks for a hypothesis always
// counts; what speaks against one only when it is part of what was refuted then.
EarlierEvidence comparable(const Gate& then, const EarlierEvidence& own, const Gate& now);

}  // namespace steady
