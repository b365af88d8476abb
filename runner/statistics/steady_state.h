// Where warm-up ends: finds the first token of the steady part of one arm's latencies and says
// whether that part can be used. A run that never settles must not be summarised by its median.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

struct SteadyOptions {
    double k = 6;  // penalty of a change point = k · ln n
    std::size_t minseg = 4;
    double tol_min = 0.01;    // segments this close (log units) count as one level
    std::size_t need = 16;    // smallest steady part, tokens …
    double frac = 1.0 / 3;    // … and as a share of the run
    double drift_min = 0.02;  // total drift that disqualifies, log units …
    double drift_p = 0.001;   // … when Kendall's p is below this
};

enum class SteadyClass { flat, warmup, slowdown, no_steady_state };
const char* name(SteadyClass cls);

struct SteadyState {
    std::size_t start = 0;  // index of the first steady token
    SteadyClass cls = SteadyClass::no_steady_state;
    std::vector<std::size_t> segments;  // first index of each segment, 0 included
    double scale = kUndefined;          // noise of the log latencies
    double drift_total = kUndefined;    // slope · (L − 1) over the steady part, log units
    double kendall_p = 1;
    bool drifting = false;
    double median_steady = kUndefined;  // unit of the input

    bool usable() const {
        return !drifting && (cls == SteadyClass::flat || cls == SteadyClass::warmup);
    }
};

// y: latencies of one arm in order of measurement, all positive. An empty run has no steady state.
SteadyState detect_steady_state(Values y, const SteadyOptions& options = {});

// The same on ready log values, without the trend test: start, class, segments and scale.
SteadyState classify_steady_state(Values log_values, const SteadyOptions& options = {});

// Trend of a steady part whose start is known: fills drift_total, kendall_p, drifting and
// median_steady. n_run: tokens of the whole run, for the short-record alarm.
void measure_drift(SteadyState& state, Values steady, std::size_t n_run,
                   const SteadyOptions& options);

}  // namespace steady
