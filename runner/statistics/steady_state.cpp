// Warm-up detection in three steps: change points on a robust log series, then the longest tail
// whose segments agree with the last one, then a trend test over that tail.
#include "runner/statistics/steady_state.h"

#include <algorithm>
#include <cmath>

#include "runner/statistics/change_points.h"

namespace steady {

namespace {

constexpr std::size_t kShortRun = 16;    // tokens
constexpr double kShortRunDrift = 1.10;  // last / first steady token

struct Levels {
    double scale = 1;
    std::vector<std::size_t> starts;  // of each segment
    std::vector<double> medians;
    std::size_t first_of_last_level = 0;  // index into starts
};

Levels find_levels(Values x, const SteadyOptions& options) {
    Levels levels;
    levels.scale = difference_scale(x);
    levels.starts.push_back(0);
    const double beta = options.k * std::log(real(x.size()));
    for (std::size_t point : pelt_l2(robust_z(x, levels.scale), beta, options.minseg).change_points)
        levels.starts.push_back(point);
    for (std::size_t j = 0; j < levels.starts.size(); ++j) {
        const std::size_t end = j + 1 < levels.starts.size() ? levels.starts[j + 1] : x.size();
        levels.medians.push_back(median(x.subspan(levels.starts[j], end - levels.starts[j])));
    }
    const double tolerance = std::max(options.tol_min, levels.scale);
    std::size_t j = levels.starts.size() - 1;
    while (j > 0 && std::abs(levels.medians[j - 1] - levels.medians.back()) <= tolerance) --j;
    levels.first_of_last_level = j;
    return levels;
}

}  // namespace

const char* name(SteadyClass cls) {
    switch (cls) {
        case SteadyClass::flat:
            return "flat";
        case SteadyClass::warmup:
            return "warmup";
        case SteadyClass::slowdown:
            return "slowdown";
        case SteadyClass::no_steady_state:
            return "no_steady_state";
    }
    return "";
}

void measure_drift(SteadyState& state, Values steady, std::size_t n_run,
                   const SteadyOptions& options) {
    if (steady.empty()) return;
    std::vector<double> x(steady.begin(), steady.end());
    for (double& value : x) value = std::log(value);
    state.drift_total = theil_sen(x) * real(x.size() - 1);
    state.kendall_p = kendall_p(x);
    state.drifting =
        std::abs(state.drift_total) >= options.drift_min && state.kendall_p < options.drift_p;
    if (n_run < kShortRun && steady.back() / steady.front() > kShortRunDrift) state.drifting = true;
    state.median_steady = median(steady);
}

SteadyState classify_steady_state(Values x, const SteadyOptions& options) {
    SteadyState state;
    if (x.empty()) return state;
    const Levels levels = find_levels(x, options);
    const std::size_t j = levels.first_of_last_level;
    state.segments = levels.starts;
    state.scale = levels.scale;
    state.start = levels.starts[j];
    state.cls = SteadyClass::flat;
    if (state.start > 0)
        state.cls =
            levels.medians[j - 1] > levels.medians[j] ? SteadyClass::warmup : SteadyClass::slowdown;
    const double needed = std::max(real(options.need), std::ceil(real(x.size()) * options.frac));
    if (real(x.size() - state.start) < needed) state.cls = SteadyClass::no_steady_state;
    return state;
}

SteadyState detect_steady_state(Values y, const SteadyOptions& options) {
    std::vector<double> x(y.begin(), y.end());
    for (double& value : x) value = std::log(value);
    SteadyState state = classify_steady_state(x, options);
    measure_drift(state, y.subspan(state.start), y.size(), options);
    return state;
}

}  // namespace steady
