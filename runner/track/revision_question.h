// A question about a repository, asked of two of its commits: what `bisect` and `track` measure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/spec/spec.h"
#include "runner/track/bisect.h"

namespace steady {

// Throws Error unless the question names a repository, has a gate that decides, and its arms differ
// in nothing but their revisions.
void check_revision_question(const Spec& spec);

// The same question of commits a and b: its correctness gates and the one that decides, with these
// thresholds. Guards are other questions. The id stays the file's.
nlohmann::json revision_question(const Spec& spec, const std::string& a, const std::string& b,
                                 const bisect::Thresholds& asked);

}  // namespace steady
