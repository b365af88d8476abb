// Kendall's test needs no distribution, and no straight line between speed and effect.
#include "runner/judge/machine_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runner/judge/analysis_text.h"

namespace steady {
namespace {

constexpr std::size_t kFewestForState = 9;
constexpr double kStateP = 0.01;

}  // namespace

std::optional<MachineState> machine_state(Values d, Values slowness, double matters) {
    if (d.size() != slowness.size() || d.size() < kFewestForState) return std::nullopt;
    std::vector<std::size_t> order(d.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return slowness[i] < slowness[j]; });
    std::vector<double> by_speed;
    for (const std::size_t i : order) by_speed.push_back(d[i]);
    MachineState state;
    const std::size_t half = d.size() / 2;
    state.fast = median(Values(by_speed).first(half));
    state.slow = median(Values(by_speed).last(half));
    state.gap = std::abs(state.fast - state.slow);
    state.p = slowness[order.front()] < slowness[order.back()] ? kendall_p(by_speed) : 1;
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
