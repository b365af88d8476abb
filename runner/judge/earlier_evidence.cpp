// An e-process against "effect <= a" is one against "effect <= b" for every b <= a, and no other.
#include "runner/judge/earlier_evidence.h"

namespace steady {
namespace {

constexpr double kRounding = 1e-12;

// What an accept refutes is "effect <= this", what a reject refutes "effect >= this".
double accept_bound(const Gate& gate) {
    return gate.goal == Goal::equivalent ? -gate.margin : gate.floor;
}
double reject_bound(const Gate& gate) {
    return gate.goal == Goal::equivalent ? -gate.margin : gate.floor + gate.worth;
}

}  // namespace

EarlierEvidence comparable(const Gate& then, const EarlierEvidence& own, const Gate& now) {
    EarlierEvidence out = own;
    const bool accept_counts = accept_bound(now) <= accept_bound(then) + kRounding;
    const bool reject_counts = reject_bound(now) >= reject_bound(then) - kRounding;
    if (own.log_e_accept > 0 && !accept_counts) out.log_e_accept = 0;
    if (own.log_e_reject > 0 && !reject_counts) out.log_e_reject = 0;
    return out;
}

}  // namespace steady
