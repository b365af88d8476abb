// Suspects are kept as sets over the whole history, so that merges need no special case: with a bad
// commit only it and its ancestors stay, with a good one it and its ancestors go.
#include "runner/track/bisect.h"

#include <algorithm>
#include <cmath>

namespace steady::bisect {
namespace {

// The experiment file's own limits.
constexpr double kLeastWorth = 0.001, kMostShare = 0.5;

using Set = std::vector<bool>;

// The commit at `at` and all its ancestors in the history.
Set with_ancestors(const History& history, std::size_t at) {
    Set in(history.size(), false);
    in[at] = true;
    for (std::size_t i = at + 1; i-- > 0;) {  // children stand behind their parents
        if (!in[i]) continue;
        for (const std::size_t parent : history[i].parents) in[parent] = true;
    }
    return in;
}

Set suspected(const History& history, const std::vector<Side>& sides) {
    Set in(history.size(), true);
    for (std::size_t i = 0; i < history.size(); ++i) {
        const bool bad = i + 1 == history.size() || sides[i] == Side::bad;
        if (!bad && sides[i] != Side::good) continue;
        const Set line = with_ancestors(history, i);
        for (std::size_t j = 0; j < in.size(); ++j) in[j] = in[j] && line[j] == bad;
    }
    return in;
}

Thresholds within_limits(double floor, double worth) {
    return {.floor = std::min(floor, kMostShare),
            .worth = std::clamp(worth, kLeastWorth, kMostShare)};
}

}  // namespace

const char* name(Side side) {
    switch (side) {
        case Side::unknown:
            return "unknown";
        case Side::good:
            return "good";
        case Side::bad:
            return "bad";
        case Side::skipped:
            return "skipped";
        case Side::open:
            return "open";
    }
    return "";
}

std::vector<std::size_t> suspects(const History& history, const std::vector<Side>& sides) {
    std::vector<std::size_t> out;
    const Set in = suspected(history, sides);
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (in[i]) out.push_back(i);
    }
    return out;
}

std::optional<std::size_t> next_commit(const History& history, const std::vector<Side>& sides) {
    const Set in = suspected(history, sides);
    const auto all = std::count(in.begin(), in.end(), true);
    std::optional<std::size_t> best;
    std::ptrdiff_t most = 0;
    for (std::size_t i = 0; i + 1 < history.size(); ++i) {
        if (!in[i] || sides[i] != Side::unknown) continue;
        const Set line = with_ancestors(history, i);
        std::ptrdiff_t below = 0;
        for (std::size_t j = 0; j < line.size(); ++j) below += line[j] && in[j] ? 1 : 0;
        const std::ptrdiff_t gone = std::min<std::ptrdiff_t>(below, all - below);
        if (gone <= most) continue;
        most = gone;
        best = i;
    }
    return best;
}

int most_tests(std::size_t n) {
    int tests = 0;
    while ((std::size_t{1} << static_cast<unsigned>(tests)) < n) ++tests;
    return tests;
}

Size size_of(const Analysis& ends, const Thresholds& asked) {
    Size size;
    if (ends.verdict != Verdict::accept || !ends.effect) return size;
    size.estimate = std::log1p(*ends.effect);
    size.proven = std::max(0.0, asked.floor);
    if (ends.interval.low) size.proven = std::max(size.proven, std::log1p(*ends.interval.low));
    return size;
}

bool needs_sizing(const Size& size) { return size.proven < size.estimate / 2; }

Size sized(const Size& first, const Analysis& second, const Thresholds& asked) {
    Size size = first;
    if (second.effect) size.estimate = std::log1p(*second.effect);
    if (second.interval.low) size.proven = std::max(size.proven, std::log1p(*second.interval.low));
    if (second.verdict == Verdict::accept) size.proven = std::max(size.proven, asked.floor);
    return size;
}

bool usable(const Size& size) { return size.proven >= 2 * kLeastWorth; }

Thresholds sizing(const Size& size) { return within_limits(size.estimate / 2, size.estimate / 2); }

Thresholds thresholds(const Size& size) {
    return within_limits(size.proven / 4, size.proven * 3 / 4);
}

Thresholds confirming(const Size& size, const Gate& gate) {
    return within_limits(gate.floor, size.proven);
}

Side side_of(const Analysis& analysis, End against) {
    const bool differs = analysis.verdict == Verdict::accept;
    const bool alike = analysis.verdict == Verdict::reject &&
                       (analysis.reason == "no_worthwhile_gain" || analysis.reason == "regression");
    if (differs) return against == End::good ? Side::bad : Side::good;
    if (alike) return against == End::good ? Side::good : Side::bad;
    return analysis.verdict == Verdict::inconclusive ? Side::open : Side::skipped;
}

Side side_of_claim(const Spec& spec, const Analysis& analysis) {
    if (analysis.verdict == Verdict::accept) return Side::good;
    if (analysis.verdict == Verdict::reject) {
        const bool program = analysis.reason == "wrong_output" || analysis.reason == "unstable";
        return program ? Side::skipped : Side::bad;
    }
    const Gate* gate = deciding_gate(spec);
    const bool better = analysis.verdict == Verdict::inconclusive && gate != nullptr &&
                        gate->goal == Goal::equivalent && analysis.interval.low &&
                        std::log1p(*analysis.interval.low) > -gate->margin;
    return better ? Side::good : Side::skipped;
}

}  // namespace steady::bisect
