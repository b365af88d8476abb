// Verbs about this machine: what makes it noisy, and the demo.
#include <fmt/format.h>
#include <time.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/platform/files.h"
#include "runner/platform/gpu_facts.h"
#include "runner/platform/noise.h"
#include "runner/record/record_json.h"
#include "runner/statistics/statistics.h"

namespace steady {
namespace {

struct Finding {
    std::string what, fix;
    bool bad = false;
};

double seconds_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One thread reading 64 MiB twenty times: what memory gives, and how evenly.
Finding memory_finding() {
    const std::vector<std::uint64_t> memory((std::size_t{64} << 20U) / sizeof(std::uint64_t), 1);
    std::vector<double> log_rates;
    std::uint64_t sum = 0;
    for (int pass = 0; pass < 20; ++pass) {
        const double begin = seconds_now();
        sum = std::accumulate(memory.begin(), memory.end(), sum);
        log_rates.push_back(
            std::log(static_cast<double>(memory.size()) * 8e-9 / (seconds_now() - begin)));
    }
    const double spread = sum == 0 ? 0 : kMadToSigma * mad(log_rates);
    return {fmt::format("memory read speed {:.1f} GB/s on one thread, spread {:.1f} %",
                        std::exp(median(log_rates)), 100 * spread),
            "something else uses the memory bus: stop it, or expect to need more pairs",
            spread > 0.03};
}

Finding clock_finding() {
    constexpr int kReads = 10000;
    const double begin = seconds_now();
    for (int i = 0; i < kReads; ++i) static_cast<void>(seconds_now());
    const double ns = 1e9 * (seconds_now() - begin) / kReads;
    const std::string source =
        read_line_or_empty("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    return {fmt::format("clock source {}, {:.0f} ns a reading", source.empty() ? "unknown" : source,
                        ns),
            "boot with clocksource=tsc if the CPU's is invariant: a slow clock blurs short tokens",
            ns > 500};
}

std::string or_unknown(std::optional<unsigned> value) {
    return value ? std::to_string(*value) : "unknown";
}

void add_gpu_findings(std::vector<Finding>& all) {
    for (const GpuFacts& gpu : gpu_facts()) {
        all.push_back({fmt::format("GPU {}, driver {}, {} MHz of at most {}", gpu.name, gpu.driver,
                                   or_unknown(gpu.clock_mhz), or_unknown(gpu.most_clock_mhz)),
                       "", false});
        all.push_back({fmt::format("GPU power limit {} W", or_unknown(gpu.power_limit_w)),
                       fmt::format("nvidia-smi -pl {} (as root): below its usual limit the GPU "
                                   "lowers its clocks under load",
                                   gpu.usual_power_w.value_or(0)),
                       gpu.power_limit_w && gpu.power_limit_w < gpu.usual_power_w});
        all.push_back({"GPU persistence mode " + std::string(!gpu.persistence   ? "unknown"
                                                             : *gpu.persistence ? "on"
                                                                                : "off"),
                       "nvidia-smi -pm 1 (as root): else the driver starts anew in each process",
                       !gpu.persistence.value_or(true)});
        all.push_back({fmt::format("{} programs compute on this GPU", gpu.other_processes),
                       "stop them; `nvidia-smi` lists them", gpu.other_processes > 0});
    }
}

std::vector<Finding> findings() {
    std::vector<Finding> all;
    const NoiseMark begin = noise_mark();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const Noise noise = noise_between(begin, noise_mark());
    all.push_back({fmt::format("steal {:.1f} % of CPU time over 2 s", 100 * noise.steal_share),
                   "another virtual machine uses this host's CPUs: move to another host, or "
                   "measure at another time",
                   noise.steal_share > 0.01});
    all.push_back({fmt::format("other programs used {:.0f} % of the CPUs over 2 s",
                               100 * noise.busy_others_share),
                   "stop them (`top` shows which), or wait", noise.busy_others_share > 0.05});
    all.push_back({fmt::format("CPU pressure {:.1f} %", cpu_pressure()),
                   "more runnable threads than CPUs: stop other work", cpu_pressure() > 5});
    const std::string governor =
        read_line_or_empty("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    all.push_back(
        {governor.empty()
             ? "no frequency control (a virtual machine): harmless, since the arms alternate"
             : "governor " + governor,
         "cpupower frequency-set -g performance", !governor.empty() && governor != "performance"});
    const std::string thp = read_line_or_empty("/sys/kernel/mm/transparent_hugepage/enabled");
    all.push_back({"transparent huge pages: " + (thp.empty() ? "unknown" : thp),
                   "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
                   thp.find("[never]") != std::string::npos});
    all.push_back(clock_finding());
    all.push_back(memory_finding());
    const double load = std::strtod(read_line_or_empty("/proc/loadavg").c_str(), nullptr);
    all.push_back({fmt::format("load {:.2f} over the last minute", load),
                   "wait until it falls below the number of CPUs",
                   load > std::thread::hardware_concurrency()});
    all.push_back({fmt::format("{} CPUs", std::thread::hardware_concurrency()),
                   "with one CPU, runner and engine disturb each other: use two or more",
                   std::thread::hardware_concurrency() < 2});
    add_gpu_findings(all);
    return all;
}

}  // namespace

int verb_doctor(const Arguments& arguments) {
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    int bad = 0;
    for (const Finding& finding : findings()) {
        rows.push_back({{"finding", finding.what},
                        {"bad", finding.bad},
                        {"fix", finding.bad ? finding.fix : ""}});
        text += fmt::format("{} {}\n", finding.bad ? "!" : "·", finding.what);
        if (finding.bad) text += fmt::format("    fix: {}\n", finding.fix);
        bad += finding.bad ? 1 : 0;
    }
    text += bad == 0 ? "no source of noise found"
                     : fmt::format("{} finding{} to fix before measuring small effects", bad,
                                   bad == 1 ? "" : "s");
    print(arguments, {{"fit", bad == 0}, {"findings", rows}}, text);
    return bad == 0 ? kExitOk : exit_code(Verdict::invalid);
}

int verb_demo(const Arguments& arguments) {
    const Spec spec = load_spec(own_experiment("quickstart"));
    if (!arguments.has("quiet")) {
        fmt::print(stderr, "the question: {}\n", spec.hypothesis.claim);
    }
    const Record record = run_here(spec, arguments);
    nlohmann::json json = show_json(record);
    json["page"] = "http://127.0.0.1:8642/x/" + record.id;
    print(arguments, json,
          fmt::format(
              "{}\n\njournal  {}\npage     http://127.0.0.1:8642/x/{}   (start it: steady serve)",
              show_text(record), path_from_here(project_root() + "/" + record.journal_path),
              record.id));
    return exit_code(record.analysis->verdict);
}

}  // namespace steady
