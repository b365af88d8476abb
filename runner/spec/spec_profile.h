// Whether a file asks for a profile of its arms. It is no part of the question: what is sampled
// after the pairs changes neither them nor the verdict.
#pragma once

#include <string>

#include "runner/spec/spec.h"

namespace steady {

// schedule.profile: frame_pointers or dwarf; empty: none is asked for.
std::string profile_asked(const Spec& spec);

}  // namespace steady
