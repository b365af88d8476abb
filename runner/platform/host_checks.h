// What makes a machine's measurements noisy: its settings, what a few seconds of measuring show,
// and from both a list of findings, each with a fix and with what it costs to leave it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace steady {

struct Finding {
    std::string what, fix, cost;  // fix and cost speak of a bad finding; cost may be empty
    bool bad = false;
};

// As /sys and /proc tell them; empty or absent: this machine does not say.
struct HostSettings {
    int cpus = 1;
    std::string shared_core;  // CPUs that share a core, e.g. "0,4"; empty: none do
    std::string smt_control;  // "on", "off", "notsupported", …
    std::string governor, turbo, huge_pages, clock_source;
    int numa_nodes = 1;
    std::optional<int> perf_paranoid;
    bool hypervisor = false;
};

// root: a folder that holds sys/ and proc/, for a machine that is not this one.
HostSettings host_settings(const std::string& root = "");

// Measured here and now, in about a second and a half.
struct HostMeasures {
    double together = 1;       // a thread's speed while all CPUs compute ÷ its speed alone
    double after_pause = 1;    // its speed in the 5 ms after a pause ÷ its speed later
    double read_gb_per_s = 0;  // one thread, memory
    double read_spread = 0;    // relative standard deviation of that (from the MAD)
    double clock_reading_ns = 0;
    double sync_ms = 0;  // to write 8 KiB and sync them, median
    bool hardware_counters = false;
};
HostMeasures measure_host(const std::string& disk_folder);

// What others do while this process sleeps.
struct HostLoad {
    double steal_share = 0, busy_others_share = 0;  // of wall time × CPUs
    double pressure = 0;                            // per cent, cpu_pressure()
    double load = 0;                                // mean of the last minute
    std::vector<std::string> busiest;               // "cc1plus (ann) 12 %", most first
};
HostLoad host_load(double seconds);

std::vector<Finding> host_findings(const HostSettings& settings, const HostMeasures& measures);
std::vector<Finding> load_findings(const HostLoad& load, int cpus);

}  // namespace steady
