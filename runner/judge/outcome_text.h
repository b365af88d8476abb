// What a verdict shows, as one sentence per outcome. The judge stores its own sentence with the
// verdict; entries, reports and the page use this one, so that its wording may improve without a
// stored verdict changing. All sentences: runner/statistics/README.md.
#pragma once

#include <string>

#include "runner/judge/analysis.h"

namespace steady {

// The stored sentence for outcomes that numbers alone do not explain (a failed guard, a wrong
// output, a run that is inconclusive or invalid).
std::string outcome_sentence(const Spec& spec, const Analysis& analysis);

}  // namespace steady
