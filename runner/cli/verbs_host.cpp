// Verbs about this machine: its own noise, the proof that the pipeline catches what it must, and
// the first five minutes.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/protocol/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/edges/files.h"
#include "runner/edges/noise.h"
#include "runner/pipeline/plan.h"
#include "runner/pipeline/record_json.h"
#include "runner/pipeline/report.h"
#include "runner/pipeline/statistics.h"
#include "runner/pipeline/verdict.h"

namespace steady {
namespace {

int print(const Arguments& arguments, const nlohmann::json& json, const std::string& text) {
    fmt::print("{}\n", arguments.has("json") ? json.dump(2) : text);
    return kExitOk;
}

// An experiment file with its arms made equal: the same question asked of nothing.
Spec as_aa(const std::string& file, const Arguments& arguments) {
    nlohmann::json json = nlohmann::json::parse(read_file(file), nullptr, true, true);
    json["id"] = "a-against-a";
    json["arms"]["B"] = json["arms"]["A"];
    json["expect_diff"] = nlohmann::json::array();
    json["schedule"]["aa_pairs"] = arguments.number("pairs", 20, 0, 50);
    json["schedule"].erase("seed");
    nlohmann::json gates = nlohmann::json::array();
    for (const nlohmann::json& gate : json["gates"]) {
        if (gate["level"] != "micro") gates.push_back(gate);  // no op differs now
    }
    json["gates"] = gates;
    SpecResult result = parse_spec(json.dump(), "a-against-a");
    if (!result.spec) throw Error(describe(result.errors.at(0), file));
    return std::move(*result.spec);
}

std::string experiment_file(const std::string& name) {
    return project_root() + "/experiments/" + name + ".json";
}

struct Finding {
    std::string what, fix;
    bool bad = false;
};

std::vector<Finding> findings() {
    std::vector<Finding> all;
    const NoiseMark begin = noise_mark();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const Noise noise = noise_between(begin, noise_mark());
    all.push_back({fmt::format("steal {:.1f} % of CPU time over 2 s", 100 * noise.steal_share),
                   "a neighbour uses this host's CPUs: move, or run at another hour",
                   noise.steal_share > 0.01});
    all.push_back({fmt::format("other programs used {:.0f} % of the CPUs over 2 s",
                               100 * noise.busy_others_share),
                   "stop them (`top` shows which), or wait", noise.busy_others_share > 0.05});
    all.push_back({fmt::format("CPU pressure {:.1f} %", cpu_pressure()),
                   "more runnable threads than CPUs: stop other work", cpu_pressure() > 5});
    const std::string governor =
        read_line_or_empty("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    all.push_back(
        {governor.empty() ? "no frequency control (a virtual machine): fine, arms alternate"
                          : "governor " + governor,
         "cpupower frequency-set -g performance", !governor.empty() && governor != "performance"});
    const std::string thp = read_line_or_empty("/sys/kernel/mm/transparent_hugepage/enabled");
    all.push_back({"transparent huge pages: " + (thp.empty() ? "unknown" : thp),
                   "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
                   thp.find("[never]") != std::string::npos});
    const std::string clock =
        read_line_or_empty("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    all.push_back({"clock source " + clock, "boot with clocksource=tsc if the CPU's is invariant",
                   clock != "tsc" && clock != "kvm-clock" && clock != "arch_sys_counter"});
    all.push_back({fmt::format("{} CPUs", std::thread::hardware_concurrency()),
                   "with one CPU, runner and engine disturb each other: use two or more",
                   std::thread::hardware_concurrency() < 2});
    return all;
}

struct Expectation {
    const char* file;
    const char* verdict;  // "not accept" or the verdict that must come
};

bool meets(const Expectation& expected, Verdict verdict) {
    if (std::string(expected.verdict) == "not accept") return verdict != Verdict::accept;
    return std::string(expected.verdict) == name(verdict);
}

}  // namespace

int verb_aa(const Arguments& arguments) {
    const std::string file =
        arguments.words.empty() ? experiment_file("selftest/a-against-a") : arguments.words[0];
    const Spec spec = as_aa(file, arguments);
    const long long runs = arguments.number("runs", 1, 1, 100000);
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    if (runs > 1) quiet.options["quiet"] = "1";
    int accepts = 0;
    Record last;
    for (long long i = 0; i < runs; ++i) {
        last = run_here(spec, quiet);
        if (last.analysis->verdict == Verdict::accept) ++accepts;
        if (runs > 1 && !arguments.has("quiet")) {
            fmt::print(stderr, "{} of {}: {}, {} accepts\n", i + 1, runs,
                       name(last.analysis->verdict), accepts);
        }
    }
    Store store = open_store(arguments);
    const Gate* gate = deciding_gate(spec);
    const HostHistory history = store.host_history(last.attempts.back().host, gate->metric,
                                                   spec.schedule.mode, spec.subject.model);
    const std::optional<double> sigma = aa_sigma(history.aa_pairs);
    const double n_max = spec.schedule.pairs_max;
    const double bound = clopper_pearson(accepts, static_cast<double>(runs), 0.95).upper_one_sided;
    nlohmann::json json = {
        {"runs", runs},
        {"accepts", accepts},
        {"false_accept_upper_95", bound},
        {"aa_pairs", history.aa_pairs.size()},
        {"sigma_d", sigma ? nlohmann::json(*sigma) : nlohmann::json()},
        {"mde95", sigma ? nlohmann::json(mde95(*sigma, n_max)) : nlohmann::json()}};
    std::string text =
        sigma ? fmt::format(
                    "sigma_d {:.3f} % over {} A/A pairs; smallest effect found with 95 % power in "
                    "{} pairs: {:.2f} %",
                    100 * *sigma, history.aa_pairs.size(), spec.schedule.pairs_max,
                    100 * mde95(*sigma, n_max))
              : fmt::format("{} A/A pairs so far: too few to know this host's noise",
                            history.aa_pairs.size());
    text += fmt::format("\n{} A/A experiment{}, {} accepted; false accepts ≤ {:.1f} % (95 % bound)",
                        runs, runs == 1 ? "" : "s", accepts, 100 * bound);
    return print(arguments, json, text);
}

int verb_selftest(const Arguments& arguments) {
    constexpr Expectation kExpected[] = {{"burn-5", "reject"},
                                         {"gain-5", "accept"},
                                         {"burn-2", "reject"},
                                         {"gain-2", "accept"},
                                         {"a-against-a", "not accept"}};
    Arguments quiet = arguments;
    quiet.options["no-journal"] = "1";
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    bool good = true;
    for (const Expectation& expected : kExpected) {
        const Spec spec = load_spec(experiment_file(std::string("selftest/") + expected.file));
        const Record record = run_here(spec, quiet);
        const bool met = meets(expected, record.analysis->verdict);
        good = good && met;
        const double effect = record.analysis->effect.value_or(0);
        rows.push_back({{"experiment", expected.file},
                        {"expected", expected.verdict},
                        {"verdict", name(record.analysis->verdict)},
                        {"effect", effect},
                        {"pairs", record.analysis->pairs},
                        {"met", met}});
        text += fmt::format("{} {:<8} expected {:<10} got {:<12} {:+.2f} % after {} pairs\n",
                            met ? "ok  " : "FAIL", expected.file, expected.verdict,
                            name(record.analysis->verdict), 100 * effect, record.analysis->pairs);
    }
    text +=
        good ? "every planted difference was found" : "the pipeline missed a planted difference";
    print(arguments, {{"good", good}, {"rows", rows}}, text);
    return good ? kExitOk : kExitInternal;
}

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
    text += bad == 0 ? "nothing here disturbs a measurement"
                     : fmt::format("{} finding{} to mend before a fine measurement", bad,
                                   bad == 1 ? "" : "s");
    print(arguments, {{"fit", bad == 0}, {"findings", rows}}, text);
    return bad == 0 ? kExitOk : exit_code(Verdict::invalid);
}

int verb_demo(const Arguments& arguments) {
    const Spec spec = load_spec(experiment_file("quickstart"));
    if (!arguments.has("quiet")) {
        fmt::print(stderr, "the question: {}\n", spec.hypothesis.claim);
    }
    const Record record = run_here(spec, arguments);
    nlohmann::json json = show_json(record);
    json["page"] = "http://127.0.0.1:8642/x/" + record.id;
    print(arguments, json,
          fmt::format(
              "{}\n\njournal  {}\npage     http://127.0.0.1:8642/x/{}   (start it: ./steady serve)",
              show_text(record), record.journal_path, record.id));
    return exit_code(record.analysis->verdict);
}

}  // namespace steady
