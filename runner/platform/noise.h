// Noise signals that do not look at latencies: they may discard a pair, because they cannot favour
// an arm. Thresholds are fixed and equal for both arms.
#pragma once

#include <cstdint>
#include <string>

#include "runner/platform/process.h"

namespace steady {

// Judgement: shares of wall time × CPUs.
constexpr double kMostSteal = 0.05;       // taken by the hypervisor
constexpr double kMostBusyOthers = 0.10;  // used by processes that are not ours
constexpr double kMostPressure = 5;       // per cent of time with runnable tasks waiting, 10 s mean

// Counters at one moment.
struct NoiseMark {
    double wall_s = 0;
    double steal_s = 0, busy_s = 0;  // all CPUs
    double own_s = 0;                // this process and its waited-for children
    int cpus = 1;
};

struct Noise {  // between two marks
    double steal_share = 0;
    double busy_others_share = 0;
};

NoiseMark noise_mark();
Noise noise_between(const NoiseMark& begin, const NoiseMark& end);

// "avg10" of /proc/pressure/cpu, per cent; 0 where the kernel does not tell.
double cpu_pressure();

// Empty when the window was quiet, else the reason to discard its pair ("steal 3.1 %").
std::string noise_reason(double steal_share, double busy_others_share);

// Waits until the machine is quiet, at most max_s or until stop is raised. Empty: it is; else what
// still disturbs.
std::string wait_until_quiet(double max_s, const StopSignal* stop = nullptr);

}  // namespace steady
