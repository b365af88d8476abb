// Which disturbed pairs are measured again. Random order makes noise independent of the arm: it
// widens intervals but adds no bias, so the last try counts even if it was noisy. Where pair after
// pair stayed noisy to its last try, the machine is noisy, and trying again only triples the time.
#pragma once

#include "runner/judge/analysis_pairs.h"

namespace steady {

class NoisyTries {
public:
    // attempt: 0, then one more for each repeat of the same pair.
    bool worth_another(int attempt, bool disturbed) {
        if (!disturbed) noisy_pairs_ = 0;
        if (!disturbed || noisy_pairs_ >= kPersistent) return false;
        if (attempt + 1 < kMaxTries) return true;
        ++noisy_pairs_;
        return false;
    }

private:
    static constexpr int kPersistent = 2;
    int noisy_pairs_ = 0;  // in a row, whose last try was disturbed too
};

}  // namespace steady
