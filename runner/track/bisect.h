// The search for the commit that changed a metric, the pure part: which commits may still be it,
// which one to test next, and what a test against one of the ends says about a commit. A search
// rests on a proven lower bound of the effect between the ends: a commit that is nearer to GOOD
// than that bound must be better than BAD, so a change lies behind it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/judge/analysis.h"

namespace steady::bisect {

struct Commit {
    std::string sha, tree, subject;
    std::vector<std::size_t> parents;  // places in the history of those parents that stand in it
};

// The commits of GOOD..BAD, each after its parents; the last is BAD itself.
using History = std::vector<Commit>;

// What is known about a commit. skipped: it does not build, or its output is wrong. open: the pairs
// ran out.
enum class Side { unknown, good, bad, skipped, open };
const char* name(Side side);

// Places of the commits that may have brought the change; sides[i] belongs to history[i]. BAD
// counts as bad.
std::vector<std::size_t> suspects(const History& history, const std::vector<Side>& sides);

// The suspect whose answer leaves the fewest suspects in the worse case; the older one of equals.
// Nothing when no untested one is left.
std::optional<std::size_t> next_commit(const History& history, const std::vector<Side>& sides);

// How many tests a line of n commits takes at most when none is skipped: ceil(log2 n).
int most_tests(std::size_t n);

// Floor and worth of the gate that decides, as log effects.
struct Thresholds {
    double floor = 0, worth = 0.01;
};

// The effect between the ends, as log effects above zero.
struct Size {
    double estimate = 0;
    double proven = 0;  // at least that much; 0: nothing is proven
};

// From a test that asked whether the better end is better than the worse end.
Size size_of(const Analysis& ends, const Thresholds& asked);
// An early stop proves that there is an effect, hardly how large it is; a bound far below the
// estimate makes every later test long. True: ask again, with sizing(size).
bool needs_sizing(const Size& size);
Thresholds sizing(const Size& size);
// After that second test.
Size sized(const Size& first, const Analysis& second, const Thresholds& asked);
// False: no test can be built on so small a bound.
bool usable(const Size& size);

// Of a test of a commit against an end: accept shows more than a quarter of the proven bound,
// reject less than all of it. The true effect between the ends is larger than the bound, so both
// answers take about as many pairs; a larger worth keeps noise from refusing the test.
Thresholds thresholds(const Size& size);
// Of the culprit against its parent: accept shows more than the file's own floor.
Thresholds confirming(const Size& size, const Gate& gate);

enum class End { good, bad };
// Of a test of a commit against an end, in which arm B is the one that is better if they differ.
Side side_of(const Analysis& analysis, End against);

// For `git bisect run`, of a file whose arm B is the commit: good, the claim holds; bad, it is
// rejected by its numbers; skipped, the commit could not be judged. "As good as A" also holds for a
// commit that is better.
Side side_of_claim(const Spec& spec, const Analysis& analysis);

}  // namespace steady::bisect
