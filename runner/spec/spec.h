// The experiment file, typed: one question, its hypothesis, two arms, the gates and the schedule.
// Decoding is strict; every mistake is reported with JSON Pointer, line and column, what was found,
// what is allowed and, where one is close, what was probably meant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/metrics.h"

namespace steady {

enum class Level { correctness, micro, block, model };  // in the order in which they run
enum class Role { advice, guard, decides };
enum class Goal { gain, equivalent };
enum class Mode { duet, process_pairs, lockstep };

// Shares are log effects: "1%" in the file is 0.01 here.
struct Prediction {
    std::string metric;
    double low = 0, high = 0;
    std::map<std::string, std::string> at;  // matrix cell
};

struct Hypothesis {
    std::string claim, because;
    std::optional<Prediction> predict;
};

struct ArmSpec {
    std::map<std::string, std::string> kernels;       // op → variant
    std::map<std::string, std::string> steps;         // step → alternative
    std::optional<int> threads;                       // absent: subject.threads
    std::map<std::string, std::string> engine_flags;  // flag → value, as text
    // outside programs
    std::string rev;
    std::vector<std::string> run;   // for gates without a run of their own
    std::vector<std::string> args;  // after the command's own
    std::map<std::string, std::string> env;
    std::string role;  // "layout_control" for B0, else empty
};

struct Subject {
    std::string program = "steady-engine";  // or "outside"
    std::string name;                       // outside: what its history of noise is kept under
    std::string repo, model, workload;
    int threads = 0;  // 0: all CPUs
    std::vector<std::vector<std::string>> build;
};

struct Bound {
    enum class Sense { at_most, at_least, equal } sense = Sense::at_most;
    double value = 0;
    std::string text;  // as written, e.g. "<=1e-4"
};

struct Gate {
    std::string id;
    Level level = Level::model;
    Role role = Role::advice;
    std::string metric;                 // op_ns, block_ns, ffn_ns, decode_tps, token_ns_p90, …
    std::string op;                     // micro only
    std::map<std::string, Bound> need;  // correctness only
    std::vector<std::string> check;     // correctness of commands: need.check
    Goal goal = Goal::gain;
    double worth = 0.01, floor = 0, margin = 0.02;
    double alpha = 0.01, beta = 0.05, alpha_guard = 0.05;
    std::map<std::string, std::string> at;
    // outside programs
    std::string adapter;                 // empty: process
    std::string pattern;                 // regex only
    std::string select;                  // which row, by its label; empty: the only one
    std::string stat;                    // of the repetitions in a process; empty: median
    std::optional<Direction> direction;  // absent: the metric's own
    std::vector<std::string> run;        // empty: each arm's
};

struct ScheduleSpec {
    Mode mode = Mode::duet;
    std::optional<std::uint64_t> seed;
    int pairs_max = 50;
    int aa_pairs = 6;
    int chunk = 4;
    int warmup_tokens = 16;
    int tokens = 64;
    double cooldown_s = 0;
    // outside programs, whose values are of whole runs; they may be zero
    bool whole_runs = false;
    int warmup_runs = 1;     // runs of each arm before its first pair, left out; lockstep: turns of
                             // each process
    int inner = 1;           // runs of an arm in its turn; their median counts; lockstep: turns
    double timeout_s = 600;  // of one run or turn
    // How call stacks are sampled after the pairs: frame_pointers, dwarf; empty: not at all. No
    // part of the question, since it changes neither pairs nor verdict.
    std::string profile;
};

struct EnvironmentSpec {
    double wait_quiet_s = 0;
    double max_discarded = 0.30;
};

// Axes are dotted paths in arm B; each value becomes one candidate. Screening data never confirm.
struct SweepSpec {
    std::map<std::string, std::vector<std::string>> axes;
    int screen_pairs = 8;
    std::string then = "confirm-top-1";
};

struct Spec {
    std::string id, owner;
    Hypothesis hypothesis;
    Subject subject;
    std::map<std::string, ArmSpec> arms;  // "A", "B", optionally "B0"
    std::vector<std::string> expect_diff;
    std::map<std::string, std::map<std::string, std::string>>
        applied;  // arm → evidence rule → text
    std::map<std::string, std::vector<std::string>> matrix;
    std::vector<Gate> gates;
    ScheduleSpec schedule;
    std::optional<double> aa_max_half_width;
    EnvironmentSpec environment;
    std::optional<SweepSpec> sweep;
    std::string retry_if;

    std::string canonical;  // sorted keys, shortest numbers, no comments
    std::string sha256;     // lower-case hex of canonical
};

struct SpecError {
    std::string pointer;       // JSON Pointer, e.g. /gates/2/role; "" is the whole document
    int line = 0, column = 0;  // 1-based; of the value, or of the key for an unknown key
    std::string found;         // what stands there, shortened
    std::string allowed;       // what may stand there
    std::string hint;          // did-you-mean or the next step; may be empty
};

struct SpecResult {
    std::optional<Spec> spec;       // set only when errors is empty
    std::vector<SpecError> errors;  // at most 20, in file order
    std::vector<std::string> warnings;
};

// text: the file's bytes. stem: the file's name without ".json"; empty skips the id check.
SpecResult parse_spec(std::string_view text, std::string_view stem);

// As parse_spec, for files that people hand in: a text that is still the placeholder of `steady
// init` is an error too. Stored specifications are read by parse_spec, which takes old ones as they
// are.
SpecResult parse_question(std::string_view text, std::string_view stem);

// "experiments/x.json:12:7 /gates/0/role: found "decide", allowed advice, guard, decides; did you
// mean …"
std::string describe(const SpecError& error, std::string_view file);

// Dotted paths in which arms A and B differ as written, sorted: kernels.<op>, steps.<step>,
// threads, engine_flags.<flag>, rev, run, args, env.<NAME>; a sweep's axes count as differing.
std::vector<std::string> arms_difference(const Spec& spec);

// Decides-gate or nullptr: what may accept.
const Gate* deciding_gate(const Spec& spec);
// The smallest log effect that matters to a gate.
inline double matters(const Gate& gate) {
    return gate.goal == Goal::equivalent ? gate.margin : gate.worth;
}

// The GPU that an arm runs on ("cuda", "cuda:1"), empty for the CPU; of a file, the first arm's
// that names one.
std::string gpu_device(const ArmSpec& arm);
std::string gpu_device(const Spec& spec);

// True for a program that is no part of this project.
inline bool is_outside(const Spec& spec) { return spec.subject.program == "outside"; }

// True when arm B0 is measured too: A in another layout, or B with its feature off.
inline bool has_layout_control(const Spec& spec) {
    return is_outside(spec) && spec.arms.contains("B0");
}

// What the history of noise is kept under: the model, or "program <name>" for outside programs.
std::string noise_subject(const Spec& spec);

const char* name(Level level);
const char* name(Role role);
const char* name(Mode mode);

}  // namespace steady
