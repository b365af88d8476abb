// From settings and measures to words. Thresholds are judgements, stated where they stand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "runner/platform/host_checks.h"

namespace steady {
namespace {

std::string hidden(const std::string& value, const HostSettings& settings) {
    if (!value.empty()) return value;
    return settings.hypervisor ? "not shown to this virtual machine" : "unknown";
}

// What is measured with all CPUs busy is the cost of SMT and turbo together: a program cannot
// switch either off to tell them apart.
std::string together_cost(const HostMeasures& measures) {
    return fmt::format(
        "with all CPUs computing a thread has {:.0f} % of its speed alone (measured now)",
        100 * measures.together);
}

Finding smt(const HostSettings& settings, const HostMeasures& measures) {
    const bool bad = !settings.shared_core.empty();
    return {bad ? fmt::format("SMT is on: CPUs {} share a core", settings.shared_core)
                : "no two CPUs share a core, as far as this machine tells",
            "echo off > /sys/devices/system/cpu/smt/control (as root)", together_cost(measures),
            bad};
}

Finding turbo(const HostSettings& settings, const HostMeasures& measures) {
    return {"turbo " + hidden(settings.turbo, settings),
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
            "/sys/devices/system/cpu/cpufreq/boost (as root); the arms alternate, so leave it if "
            "the speed at turbo is the one that you ask for",
            together_cost(measures), settings.turbo == "on"};
}

Finding governor(const HostSettings& settings, const HostMeasures& measures) {
    return {"governor " + hidden(settings.governor, settings),
            "cpupower frequency-set -g performance (as root)",
            fmt::format("the first 5 ms after a pause ran at {:.0f} % of the speed later (measured "
                        "now)",
                        100 * measures.after_pause),
            !settings.governor.empty() && settings.governor != "performance"};
}

Finding huge_pages(const HostSettings& settings) {
    return {"transparent huge pages: " + hidden(settings.huge_pages, settings),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
            "small pages cannot be compared with large ones while those are off; an AMD EPYC of "
            "family 25 read memory in order at 0.7 of the speed with small ones",
            settings.huge_pages == "never"};
}

Finding nodes(const HostSettings& settings) {
    return {fmt::format("{} memory node{}", settings.numa_nodes,
                        settings.numa_nodes == 1 ? "" : "s (NUMA)"),
            "numactl --cpunodebind=0 --membind=0 ./steady worker, one node for both arms",
            "memory of another node is slower to read, and where it lies changes from run to run",
            settings.numa_nodes > 1};
}

Finding counters(const HostSettings& settings, const HostMeasures& measures) {
    const std::string level =
        settings.perf_paranoid ? std::to_string(*settings.perf_paranoid) : "unknown";
    const bool forbidden = settings.perf_paranoid.value_or(0) > 2;
    if (measures.hardware_counters) {
        return {fmt::format("hardware counters can be read (perf_event_paranoid {})", level),
                {},
                {},
                false};
    }
    return {fmt::format("no hardware counters (perf_event_paranoid {})", level),
            "sysctl kernel.perf_event_paranoid=2 (as root)",
            "the adapter perf has no cycles and instructions to tell", forbidden};
}

// A pair is two readings, so its difference scatters by √2 of one.
Finding memory(const HostMeasures& measures) {
    return {fmt::format("memory read speed {:.1f} GB/s on one thread, spread {:.1f} %",
                        measures.read_gb_per_s, 100 * measures.read_spread),
            "something else uses the memory bus: stop it, or expect to need more pairs",
            fmt::format("a pair that is bound by memory scatters by {:.1f} %",
                        100 * std::sqrt(2.0) * measures.read_spread),
            measures.read_spread > 0.03};
}

Finding clock(const HostSettings& settings, const HostMeasures& measures) {
    return {fmt::format("clock source {}, {:.0f} ns a reading",
                        settings.clock_source.empty() ? "unknown" : settings.clock_source,
                        measures.clock_reading_ns),
            "boot with clocksource=tsc if the CPU's is invariant",
            fmt::format("each timed step carries {:.0f} ns of the clock's own",
                        measures.clock_reading_ns),
            measures.clock_reading_ns > 500};
}

Finding disk(const HostMeasures& measures) {
    return {fmt::format("disk: {:.1f} ms to make 8 KiB safe", measures.sync_ms),
            "STEADY_STATE_DIR on another disk, or a database on another host (STEADY_DATABASE_URL)",
            "each pair waits that long once or more before the next begins", measures.sync_ms > 50};
}

}  // namespace

std::vector<Finding> host_findings(const HostSettings& settings, const HostMeasures& measures) {
    return {{fmt::format("{} CPU{}", settings.cpus, settings.cpus == 1 ? "" : "s"),
             "use a machine with two or more", "runner and measured program disturb each other",
             settings.cpus < 2},
            smt(settings, measures),
            turbo(settings, measures),
            governor(settings, measures),
            huge_pages(settings),
            nodes(settings),
            clock(settings, measures),
            memory(measures),
            counters(settings, measures),
            disk(measures)};
}

std::vector<Finding> load_findings(const HostLoad& load, int cpus) {
    constexpr std::size_t kNamed = 3;
    const std::span names(load.busiest.data(), std::min(kNamed, load.busiest.size()));
    return {
        {fmt::format("steal {:.1f} % of CPU time", 100 * load.steal_share),
         "move to another host, or measure at another time",
         "another virtual machine uses this host's CPUs", load.steal_share > 0.01},
        {fmt::format("other programs used {:.0f} % of the CPUs{}{}", 100 * load.busy_others_share,
                     names.empty() ? "" : ": ", fmt::join(names, ", ")),
         "stop them, or wait", "pairs beside them are discarded and measured again",
         load.busy_others_share > 0.05},
        {fmt::format("CPU pressure {:.1f} %", load.pressure), "stop other work",
         "more threads want to run than there are CPUs", load.pressure > 5},
        {fmt::format("load {:.2f} over the last minute", load.load),
         "wait until it falls below the number of CPUs",
         "an experiment waits for quiet before it begins", load.load > cpus}};
}

}  // namespace steady
