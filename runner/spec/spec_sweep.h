// A sweep as the experiments that it stands for: one per setting of arm B, first with a few pairs
// each, then the best of them on pairs of its own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/spec/spec.h"

namespace steady {

// One point of a sweep: axis → value. Axes are kernels.<op>, steps.<step>, engine_flags.<flag> and
// threads of steady-engine; args.<name>, which fills {name} in B's words, and env.<NAME> of other
// programs.
using SweepChoice = std::map<std::string, std::string>;

inline constexpr std::string_view kSweptPlace = "args.";  // an axis that fills a place in B's words
constexpr std::size_t kMostSweepChoices = 64;
constexpr int kMostScreened = 10;  // pairs: plan.cpp measures what decides nothing no more often
// Room for what is added to the name of a sweep: "-screen-64".
constexpr std::size_t kLongestSweepId = 54;

// Every combination of the axes' values; at most kMostSweepChoices are made.
std::vector<SweepChoice> sweep_choices(const SweepSpec& sweep);
std::string choice_text(const SweepChoice& choice);  // "args.level=-3, env.POOL=4"

// The choice makes B equal to A: there is nothing to compare.
bool is_baseline(const Spec& spec, const SweepChoice& choice);

// Correctness and a few pairs of the deciding gate's metric; nothing in it can decide.
SpecResult screening_spec(const Spec& spec, const SweepChoice& choice, std::size_t number);
// The file without its sweep, the choice in arm B.
SpecResult confirmation_spec(const Spec& spec, const SweepChoice& choice);

}  // namespace steady
