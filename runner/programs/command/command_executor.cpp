// Both arms of an A/A pair are arm A, and the second of a control pair is B0, whatever the labels
// say, so that such pairs pass through exactly the code of a measured one.
#include "runner/programs/command/command_executor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/platform/noise.h"
#include "runner/programs/command/readings.h"
#include "runner/programs/command/sampled_stacks.h"
#include "runner/programs/command/turns.h"

namespace steady {
namespace {

std::string file_or_nothing(const std::string& path) {
    try {
        return read_file(path);
    } catch (const Error&) {
        return "";
    }
}

// When a file was last written, created or moved here; nothing that a program does makes it equal.
struct FileMark {
    dev_t device = 0;
    ino_t inode = 0;
    timespec changed{};
    bool operator==(const FileMark& other) const {
        return device == other.device && inode == other.inode &&
               changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
    }
};

FileMark file_mark(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {info.st_dev, info.st_ino, info.st_ctim};
}

// A kernel's time stamps are some milliseconds apart: what is written after this has a newer one.
void let_time_stamps_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

std::string in_directory(const std::string& directory, const std::string& path) {
    return path.front() == '/' ? path : directory + "/" + path;
}

// How a run failed, with its kind where the text does not name it.
std::string told(const RunFailed& failure) {
    const std::string text = failure.what();
    const bool plain = failure.outcome == "protocol" || failure.outcome == "error";
    return plain || text.find(failure.outcome) != text.npos ? text : failure.outcome + ": " + text;
}

// Whose values stand under "b" in a pair.
const char* second_arm(PairKind kind) {
    return kind == PairKind::aa ? "A" : kind == PairKind::control ? "B0" : "B";
}

void stop_if_cancelled(const CommandRun& run) {
    if (run.end.ending == Ending::cancelled) throw Error{"cancelled", kExitInterrupted};
}

// Repetitions that both arms have equally often are kept one by one; otherwise their statistic.
void put_equal(Pair& pair, const Gate& gate, const std::map<std::string, std::vector<double>>& a,
               const std::map<std::string, std::vector<double>>& b) {
    for (const auto& [metric, in_a] : a) {
        const auto found = b.find(metric);
        if (found == b.end() || in_a.empty() || found->second.empty()) continue;
        const std::vector<double>& in_b = found->second;
        const bool equal = in_a.size() == in_b.size();
        pair.a[metric] = equal ? in_a : std::vector{run_statistic(in_a, gate.stat)};
        pair.b[metric] = equal ? in_b : std::vector{run_statistic(in_b, gate.stat)};
    }
}

}  // namespace

// A file counts when this run wrote it: both arms may write the same one, and an older run as well.
ArmOutput CommandExecutor::output_of(const std::string& arm, const Gate& gate) {
    const CommandLine line = arms_.line(arm, gate);
    const auto file = gate.need.find("file");
    const std::string path =
        file == gate.need.end() ? "" : in_directory(line.directory, file->second.text);
    const FileMark before = file_mark(path);
    if (before.inode != 0) let_time_stamps_pass();
    ArmOutput output;
    output.run = run_command(line);
    stop_if_cancelled(output.run);
    output.file_there = !path.empty() && !(file_mark(path) == before);
    if (output.file_there) output.file = file_or_nothing(path);
    logs_[arm] += output.run.end.out + "\n" + output.run.end.err + "\n";
    keep_proof_files(arm, line.directory);
    return output;
}

// Read when the arm has just run, since the other one may write the same file.
void CommandExecutor::keep_proof_files(const std::string& arm, const std::string& directory) {
    const auto rules = spec().applied.find(arm);
    if (rules == spec().applied.end()) return;
    const auto rule = rules->second.find("file_has");
    if (rule == rules->second.end()) return;
    const std::string path = rule->second.substr(0, rule->second.find(':'));
    proof_files_[arm] += file_or_nothing(in_directory(directory, path)) + "\n";
}

CommandRun CommandExecutor::run_check(const std::vector<std::string>& argv) {
    CommandRun run = run_command(arms_.beside(argv));
    stop_if_cancelled(run);
    return run;
}

// The output, or why there is none that could be looked at.
std::optional<ArmOutput> CommandExecutor::try_output(const std::string& arm, const Gate& gate,
                                                     std::string& trouble) {
    try {
        ArmOutput output = output_of(arm, gate);
        if (output.run.exited()) return output;
        trouble =
            output.run.end.ending == Ending::timeout
                ? fmt::format("timeout: it did not end within {:g} s", spec().schedule.timeout_s)
                : output.run.how();
    } catch (const Error& error) {  // no such program, or one that the system cannot start
        if (error.exit_code != kExitUsage) throw;
        trouble = error.what();
    }
    return std::nullopt;
}

void CommandExecutor::compare(const Gate& gate, OutputsReport& report) {
    const auto a = try_output("A", gate, report.baseline_failed);
    if (!a) return;
    report.baseline_failed = baseline_trouble(gate, *a);
    if (!report.baseline_failed.empty()) return;
    std::string trouble;
    const auto b = try_output("B", gate, trouble);
    if (!b) throw CandidateFailed(trouble);
    const auto checked = [&](const std::vector<std::string>& argv) { return run_check(argv); };
    try {
        const auto checks = compare_outputs(gate, *a, *b, checked);
        report.checks.insert(report.checks.end(), checks.begin(), checks.end());
    } catch (const Error& error) {
        if (error.exit_code != kExitUsage) throw;
        report.baseline_failed =
            fmt::format("{}the check cannot be run: {}", kNotTheArms, error.what());
        return;
    }
    if (has_layout_control(spec())) compare_control(gate, *a, report);
}

// A control that does other work than A controls nothing. It is no fault of the candidate.
void CommandExecutor::compare_control(const Gate& gate, const ArmOutput& a, OutputsReport& report) {
    std::string trouble;
    const auto control = try_output("B0", gate, trouble);
    const auto checked = [&](const std::vector<std::string>& argv) { return run_check(argv); };
    if (control) {
        for (const OutputCheck& check : compare_outputs(gate, a, *control, checked, "B0"))
            if (!check.held && trouble.empty()) trouble = check.detail;
    }
    if (!trouble.empty()) report.baseline_failed = kControlFailed + trouble;
}

// The first run of what will be timed: does its output hold the metric, and in which unit?
void CommandExecutor::try_metrics(const Gate& gate, OutputsReport& report) {
    if (in_lockstep()) return try_turns(gate, report);
    if (gate.adapter.empty() || gate.adapter == "process") return;
    for (const char* arm : {"A", "B"}) {
        std::string trouble;
        try {
            for (const auto& [metric, unit] : timed_run(arm, gate).readings.units)
                if (same_unit(gate, metric, unit, arm)) report.units[metric] = unit;
        } catch (const RunFailed& failure) {
            trouble = told(failure);
        }
        if (trouble.empty()) continue;
        if (*arm == 'B') throw CandidateFailed(trouble);
        report.baseline_failed = trouble;
        return;
    }
}

// The same with one turn of each process.
void CommandExecutor::try_turns(const Gate& gate, OutputsReport& report) {
    try {
        report.units.merge(this->turns(gate, "0", PairKind::measure).units);
    } catch (const RunFailed& failure) {
        const std::string trouble = told(failure);
        if (failure.arm == "B") throw CandidateFailed(trouble);
        report.baseline_failed = trouble;
    }
}

OutputsReport CommandExecutor::correctness() {
    arms_.prepare();
    OutputsReport report;
    for (const Gate& gate : spec().gates) {
        if (!report.baseline_failed.empty()) return report;
        if (gate.level == Level::correctness) compare(gate, report);
    }
    const bool right = std::all_of(report.checks.begin(), report.checks.end(),
                                   [](const OutputCheck& check) { return check.held; });
    for (const Gate& gate : spec().gates) {
        if (!right || !report.baseline_failed.empty()) break;
        if (gate.level != Level::correctness) try_metrics(gate, report);
    }
    for (const char* arm : {"A", "B", "B0"}) {
        if (!spec().applied.contains(arm)) continue;
        for (Proof& proof : look_for_proofs(spec(), arm, logs_[arm], proof_files_[arm]))
            report.proofs.push_back(std::move(proof));
    }
    return report;
}

ReadRun CommandExecutor::timed_run(const std::string& arm, const Gate& gate) {
    try {
        const int good_exit = timed_exit(spec(), gate);
        ReadRun read = run_and_read(gate, arms_.line(arm, gate), good_exit);
        stop_if_cancelled(read.run);
        if (!read.run.end.exited_with(good_exit))
            throw RunFailed(read.run.end.outcome(), read.run.how());
        return read;
    } catch (const Error& error) {
        if (error.exit_code != kExitUsage) throw;
        throw RunFailed("protocol", error.what());  // its output is not what the adapter reads
    }
}

void CommandExecutor::warm_up(const Gate& gate) {
    for (int i = 0; i < spec().schedule.warmup_runs; ++i) {
        for (const auto& [arm, settings] : spec().arms) {
            try {
                stop_if_cancelled(run_command(arms_.line(arm, gate)));
            } catch (const Error& error) {
                if (error.exit_code != kExitUsage) throw;
                throw RunFailed("error", error.what(), arm);
            }
        }
    }
}

CommandExecutor::Values CommandExecutor::turn(const std::string& arm, const Gate& gate,
                                              std::string& disturbed) {
    Values values;
    for (int i = 0; i < spec().schedule.inner; ++i) {
        const auto [run, readings] = timed_run(arm, gate);
        if (disturbed.empty()) {
            const std::string noise = noise_reason(run.steal_share, run.busy_others_share);
            if (!noise.empty()) disturbed = kNoiseReason + noise;
        }
        for (const auto& [metric, read] : readings.values) {
            if (!same_unit(gate, metric, readings.units.at(metric), arm)) continue;
            auto& all = values[metric];
            all.insert(all.end(), read.begin(), read.end());
        }
    }
    return values;
}

// The ratio of two units says nothing.
bool CommandExecutor::same_unit(const Gate& gate, const std::string& metric,
                                const std::string& unit, const std::string& arm) {
    const std::string& known = units_.emplace(gate.id + " " + metric, unit).first->second;
    if (known == unit) return true;
    if (metric != gate.metric) return false;
    throw RunFailed("protocol",
                    fmt::format("it measured {} in {}, an earlier run of this comparison in {}; "
                                "let both arms print one unit",
                                metric, unit_text(unit), unit_text(known)),
                    arm == "B0" ? "B" : arm);
}

bool CommandExecutor::in_lockstep() const { return spec().schedule.mode == Mode::lockstep; }

TurnValues CommandExecutor::turns(const Gate& gate, const std::string& coins, PairKind kind) {
    const auto line_of = [&](const char* arm) {
        return [this, arm, &gate] { return arms_.line(arm, gate); };
    };
    TurnValues turns =
        measure_turns(gate, spec().schedule, coins, line_of("A"), line_of(second_arm(kind)));
    for (const auto& [arm, units] :
         {std::pair("A", turns.units_a), std::pair("B", turns.units_b)}) {
        for (const auto& [metric, unit] : units) {
            if (same_unit(gate, metric, unit, arm)) {
                turns.units[metric] = unit;
            } else {
                (*arm == 'A' ? turns.a : turns.b).erase(metric);
            }
        }
    }
    return turns;
}

void CommandExecutor::measure_lockstep(const Gate& gate, Pair& pair, std::string& disturbed) {
    const TurnValues turns = this->turns(gate, pair.coins, pair.kind);
    const std::string noise = noise_reason(turns.steal_share, turns.busy_others_share);
    if (!noise.empty()) disturbed = kNoiseReason + noise;
    put_equal(pair, gate, turns.a, turns.b);
}

void CommandExecutor::measure_processes(const MeasureRequest& request, const Gate& gate, Pair& pair,
                                        std::string& disturbed, std::string& turn_of) {
    if (warm_.insert(request.gate).second) warm_up(gate);
    settle();
    std::map<std::string, Values> values;
    const bool b_first = pair.coins.starts_with('1');
    for (const std::string label : {b_first ? "B" : "A", b_first ? "A" : "B"}) {
        turn_of = label;
        values[label] = turn(label == "A" ? "A" : second_arm(pair.kind), gate, disturbed);
    }
    put_equal(pair, gate, values["A"], values["B"]);
}

// Cool down after the pair before, then wait until the machine is quiet, as the spec asks.
void CommandExecutor::settle() {
    const StopSignal* stop = arms_.setup().stop;
    if (measured_before_ && spec().schedule.cooldown_s > 0) {
        pollfd entry{stop != nullptr ? stop->fd() : -1, POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(spec().schedule.cooldown_s * 1000));
    }
    measured_before_ = true;
    if (spec().environment.wait_quiet_s > 0) wait_until_quiet(spec().environment.wait_quiet_s);
}

Measured CommandExecutor::measure(const MeasureRequest& request) {
    Measured measured;
    measured.pair = request.pair;
    const Gate& gate = spec().gates[static_cast<std::size_t>(request.gate)];
    std::string turn_of;
    try {
        arms_.prepare();
        std::string disturbed;
        if (in_lockstep()) {
            settle();
            measure_lockstep(gate, measured.pair, disturbed);
        } else {
            measure_processes(request, gate, measured.pair, disturbed, turn_of);
        }
        const bool again = tries_.worth_another(measured.pair.attempt, !disturbed.empty());
        if (again && arms_.setup().discard_noisy) measured.pair.discarded = disturbed;
        return measured;
    } catch (const RunFailed& failure) {
        const std::string& arm = failure.arm.empty() ? turn_of : failure.arm;
        measured.outcome = arm + ": " + failure.outcome;
        measured.detail = safe_line(failure.what());
    } catch (const Error& error) {
        if (error.exit_code != kExitInterrupted) throw;
        measured.outcome = "cancelled";
    }
    measured.pair = request.pair;  // no half-measured values
    return measured;
}

std::optional<StackProfile> CommandExecutor::stacks(int gate_index) {
    arms_.prepare();
    const Gate& gate = spec().gates[static_cast<std::size_t>(gate_index)];
    if (arms_.setup().message) arms_.setup().message("sampling the call stacks of both arms");
    try {
        StackProfile profile =
            sampled_stacks({.unwinding = spec().schedule.profile,
                            .good_exit = timed_exit(spec(), gate),
                            .line = [&](const std::string& arm) { return arms_.line(arm, gate); }});
        if (!profile.problem.empty() && arms_.setup().message)
            arms_.setup().message("no flame graph: " + profile.problem);
        return profile;
    } catch (const Error& error) {
        if (error.exit_code != kExitInterrupted) throw;
        return std::nullopt;
    }
}

}  // namespace steady
