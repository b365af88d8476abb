// Are B's outputs right? What both arms printed and wrote is compared before anything is timed, and
// the file's proofs that a setting applied are looked up in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/judge/program_report.h"
#include "runner/programs/command/command_run.h"
#include "runner/spec/spec.h"

namespace steady {

// What an arm left behind when it ran for a correctness gate.
struct ArmOutput {
    CommandRun run;
    std::string file;  // content of the gate's need.file
    bool file_there = false;
};

// Starts the gate's need.check with {out_a} and {out_b} filled in.
using RunCheck = std::function<CommandRun(const std::vector<std::string>& argv)>;

// One for each thing that the gate needs; `name` is what texts call b's arm.
std::vector<OutputCheck> compare_outputs(const Gate& gate, const ArmOutput& a, const ArmOutput& b,
                                         const RunCheck& run_check, const std::string& name = "B");

// What a gate needs of an output whatever the other arm does, and A lacks: then the question is
// wrong, not the candidate. Empty: nothing.
std::string baseline_trouble(const Gate& gate, const ArmOutput& a);

// The exit code that a gate needs of both arms.
int needed_exit(const Gate& gate);
// The exit code of a timed run: what a correctness gate of the same command needs, else 0.
int timed_exit(const Spec& spec, const Gate& gate);

// Looks each rule of spec.applied up in what the arm printed, and in what the file of its file_has
// held after its runs.
std::vector<Proof> look_for_proofs(const Spec& spec, const std::string& arm, const std::string& log,
                                   const std::string& file);

}  // namespace steady
