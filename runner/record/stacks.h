// Where the CPU time of both arms went, by call stack: what `perf record` sampled in runs of their
// own after the pairs. It explains a result and decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

// "process;outer;inner" → samples: the form that flame graph tools read.
using Stacks = std::map<std::string, std::int64_t>;

struct ArmStacks {
    int runs = 0;               // that were sampled
    std::int64_t samples = 0;   // of all of them
    std::int64_t left_out = 0;  // of these, in stacks too rare to keep
    std::string folded;         // "stack samples" lines, the most samples first
};

struct StackProfile {
    std::string unwinding;  // as in the file: frame_pointers, dwarf
    int hz = 0;             // samples per second of CPU time
    std::string problem;    // why there is no profile; empty: there is one
    std::map<std::string, ArmStacks> arms;
};

// Most bytes of the folded text of one arm. What is larger loses its rarest stacks.
constexpr std::size_t kMostFolded = std::size_t{192} << 10U;

// The JSON text that is stored beside the record, as evidence of kind "stacks". Reading is strict.
std::string stacks_text(const StackProfile& profile);
StackProfile stacks_from_text(const std::string& text);

// Adds what `perf script -F comm,ip,sym,dso` printed. Samples of perf itself, before it starts the
// command, are left out. Throws Error when it is not that output.
void add_perf_script(std::string_view text, Stacks& stacks);

// The stacks as folded lines with the counts beside them.
ArmStacks folded(const Stacks& stacks, int runs, std::size_t most_bytes = kMostFolded);

// Reads folded lines back. Throws Error for anything else.
Stacks unfolded(std::string_view text);

// A frame in both arms: CPU time of one run in it and in what it calls, and whether B's differs
// from A's by more than sampling explains (99.9 % interval of the counts).
struct FlameFrame {
    int depth = 0;  // 0: everything
    std::string name;
    double a_ns = 0, b_ns = 0;
    int change = 0;  // 1: more time in B, -1: less, 0: not shown
};

// CPU time of one run in a function itself, wherever it is called from.
struct FlameFunction {
    std::string name;
    double a_ns = 0, b_ns = 0;
    double low_ns = 0, high_ns = 0;  // 99.9 % interval of B - A, sampling alone
};

struct FlameGraph {
    std::vector<FlameFrame> frames;        // each before what it calls, in the order of names
    std::vector<FlameFunction> functions;  // those with the most time first
    double a_ns = 0, b_ns = 0;             // CPU time of one run
};

// Frames below a thousandth of the time are left to their callers. The process's name is left out
// where each arm has one process only, so that two programs of different names can be compared.
FlameGraph flame_graph(const StackProfile& profile);

}  // namespace steady
