// Kendall's test needs no distribution, and no straight line between speed and effect.
#include "runner/judge/machine_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "runner/judge/analysis_text.h"

namespace steady {
namespace {

constexpr std::size_t kFewestForState = 9;
constexpr double kStateP = 0.01;
constexpr std::size_t kFewestForGroups = 10, kFewestInGroup = 3;
constexpr int kGroupPermutations = 4999;
constexpr std::uint64_t kGroupSeed =
    30;  // the same permutations at every call: a record renders alike

std::vector<double> sorted_by(Values d, Values slowness) {
    std::vector<std::size_t> order(d.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return slowness[i] < slowness[j]; });
    std::vector<double> out;
    for (const std::size_t i : order) out.push_back(d[i]);
    return out;
}

struct Cut {
    std::size_t at = 0;
    double size = 0;  // squared rank-sum statistic over its variance
};

// A rank-sum test at each cut that leaves `least` values on both sides; the largest.
Cut best_cut(Values ranks, std::size_t least) {
    const double n = real(ranks.size());
    Cut best;
    double sum = 0;
    for (std::size_t k = 1; k + least <= ranks.size(); ++k) {
        sum += ranks[k - 1];
        if (k < least) continue;
        const double low = real(k), off = sum - low * (n + 1) / 2;
        const double size = off * off / (low * (n - low) * (n + 1) / 12);
        if (size > best.size) best = {k, size};
    }
    return best;
}

}  // namespace

std::optional<SpeedGroups> speed_groups(Values d, Values slowness, double matters) {
    if (d.size() != slowness.size() || d.size() < kFewestForGroups) return std::nullopt;
    const auto [fastest, slowest] = std::minmax_element(slowness.begin(), slowness.end());
    if (!(*fastest < *slowest)) return std::nullopt;
    const std::vector<double> by_speed = sorted_by(d, slowness);
    const std::size_t least = std::max(kFewestInGroup, d.size() / 5);
    std::vector<double> ranks = midranks(by_speed);
    const Cut cut = best_cut(ranks, least);
    if (cut.at == 0) return std::nullopt;
    std::mt19937_64 random(kGroupSeed);
    int as_far = 1;
    for (int i = 0; i < kGroupPermutations; ++i) {
        for (std::size_t k = ranks.size() - 1; k > 0; --k) {
            std::swap(ranks[k], ranks[random() % (k + 1)]);
        }
        as_far += best_cut(ranks, least).size >= cut.size - 1e-12 ? 1 : 0;
    }
    SpeedGroups groups;
    groups.n_fast = cut.at;
    groups.n_slow = d.size() - cut.at;
    groups.fast = median(Values(by_speed).first(cut.at));
    groups.slow = median(Values(by_speed).subspan(cut.at));
    groups.p = static_cast<double>(as_far) / (kGroupPermutations + 1);
    groups.apart = groups.p < kStateP && std::abs(groups.fast - groups.slow) > matters;
    return groups;
}

std::optional<MachineState> machine_state(Values d, Values slowness, double matters) {
    if (d.size() != slowness.size() || d.size() < kFewestForState) return std::nullopt;
    const std::vector<double> by_speed = sorted_by(d, slowness);
    const auto [fastest, slowest] = std::minmax_element(slowness.begin(), slowness.end());
    MachineState state;
    const std::size_t half = d.size() / 2;
    state.fast = median(Values(by_speed).first(half));
    state.slow = median(Values(by_speed).last(half));
    state.gap = std::abs(state.fast - state.slow);
    state.p = *fastest < *slowest ? kendall_p(by_speed) : 1;
    state.depends = state.p < kStateP && state.gap > matters;
    return state;
}

std::string state_words(const std::optional<MachineState>& state) {
    if (!state || !state->depends) return "";
    return fmt::format(
        "depends on machine state: {} in the faster half of the pairs, {} in the slower (Kendall's "
        "p "
        "{:.2g})",
        percent(std::expm1(state->fast)), percent(std::expm1(state->slow)), state->p);
}

}  // namespace steady
