// Rules that join fields of one file, outside the gates: program and arms, the declared difference,
// evidence, matrix, prediction, schedule. Each names the field that has to change.
#include "runner/spec/spec_joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/text.h"
#include "runner/spec/spec_decode.h"

namespace steady {

const JsonValue* JointCheck::sound(const std::string& pointer) const {
    for (const JsonProblem& problem : problems) {
        if (problem.pointer == pointer || problem.pointer.rfind(pointer + "/", 0) == 0) {
            return nullptr;
        }
    }
    return resolve_pointer(root, pointer);
}

void JointCheck::report(const std::string& pointer, std::string found, std::string allowed,
                        std::string hint) {
    std::string at = pointer;
    const JsonValue* value = resolve_pointer(root, at);
    while (value == nullptr) {
        at.resize(at.rfind('/'));
        value = resolve_pointer(root, at);
    }
    problems.push_back(
        {at, value->line, value->column, std::move(found), std::move(allowed), std::move(hint)});
}

void JointCheck::forbid(const std::string& parent, const std::string& key,
                        const std::string& allowed, const std::string& hint) {
    const std::string pointer = pointer_join(parent, key);
    if (resolve_pointer(root, pointer) != nullptr) {
        report(pointer, "\"" + key + "\"", allowed, hint);
    }
}

void JointCheck::require(const std::string& parent, const std::string& key,
                         const std::string& why) {
    const JsonValue* value = resolve_pointer(root, parent);
    if (value != nullptr && value->kind == JsonValue::Kind::object && value->find(key) == nullptr) {
        report(parent, "no key \"" + key + "\"", "\"" + key + "\" is required " + why, "");
    }
}

namespace {

using Words = std::vector<std::string>;

std::string listed(const Words& words) {
    return words.empty() ? "[]" : "[\"" + fmt::format("{}", fmt::join(words, "\", \"")) + "\"]";
}

// {"size": "1024"}, as the file may say it.
std::string shown_cell(const std::map<std::string, std::string>& cell) {
    Words members;
    for (const auto& [axis, value] : cell)
        members.push_back(fmt::format("\"{}\": \"{}\"", axis, value));
    return fmt::format("{{{}}}", fmt::join(members, ", "));
}

void check_id(JointCheck& check, std::string_view stem) {
    if (!stem.empty() && check.sound("/id") != nullptr && check.spec.id != stem) {
        check.report("/id", shown_text(check.spec.id),
                     "the file's name without .json: " + shown_text(stem),
                     "rename the file or the id");
    }
}

void check_subject(JointCheck& check) {
    if (check.sound("/subject/program") == nullptr) {
        return;
    }
    if (check.outside) {
        return;  // spec_command.cpp
    }
    check.require("/subject", "model", "for steady-engine: a GGUF file under a model root");
    check.require("/subject", "workload", "for steady-engine: a text under experiments/workloads");
    for (const char* key : {"name", "repo", "build"}) {
        check.forbid("/subject", key, "nothing here: steady-engine is this tree's release build",
                     "two revisions are compared with \"program\": \"outside\"");
    }
    check.forbid("", "matrix", "nothing here: a matrix fills commands of outside programs", "");
    check.forbid("", "applied", "nothing here: steady-engine proves its plan itself",
                 "remove \"applied\"");
}

void check_arm(JointCheck& check, const std::string& arm) {
    const std::string at = "/arms/" + arm;
    if (resolve_pointer(check.root, at) == nullptr) {
        return;
    }
    if (arm == "B0") {
        check.require(at, "role", "in B0: \"layout_control\"");
    } else {
        check.forbid(at, "role", "nothing here: only B0 has a role", "");
    }
    if (check.outside) {
        for (const char* key : {"kernels", "steps", "engine_flags", "threads"}) {
            check.forbid(at, key, "rev, run, args, env for an outside program", "");
        }
    } else {
        check.forbid(at, "rev", "kernels, steps, threads, engine_flags for steady-engine",
                     "different builds are compared with \"program\": \"outside\" and "
                     "\"mode\": \"process_pairs\"");
        for (const char* key : {"run", "args", "env"}) {
            check.forbid(at, key, "kernels, steps, threads, engine_flags for steady-engine", "");
        }
    }
    const auto found = check.spec.arms.find(arm);
    if (found == check.spec.arms.end()) {
        return;
    }
    for (const auto& [key, value] : found->second.env) {
        if (key == "PATH" || key.rfind("LD_", 0) == 0) {
            check.report(pointer_join(at + "/env", key), "\"" + key + "\"",
                         "variables that do not change which code is loaded",
                         "name the executable in run instead");
        }
    }
}

bool runs_the_same(const ArmSpec& x, const ArmSpec& y) {
    return x.rev == y.rev && x.run == y.run && x.args == y.args && x.env == y.env;
}

// A control that equals an arm, or that no gate measures, would show nothing.
void check_layout_control(JointCheck& check) {
    const auto control = check.spec.arms.find("B0");
    if (control == check.spec.arms.end()) {
        if (check.from_people && check.sound("/applied/B0") != nullptr) {
            check.report("/applied/B0", "a proof of an arm that is not there",
                         "\"B0\" beside A and B in \"arms\", or no proof of it", "");
        }
        return;
    }
    if (!check.outside) {
        check.report("/arms/B0", "a layout control", "arms A and B of steady-engine",
                     "both run in one build, so there is no other layout to control for");
        return;
    }
    for (const char* name : {"A", "B"}) {
        const auto arm = check.spec.arms.find(name);
        if (check.sound("/arms/B0") == nullptr || arm == check.spec.arms.end() ||
            !runs_the_same(control->second, arm->second)) {
            continue;
        }
        check.report("/arms/B0", fmt::format("an arm that equals {}", name),
                     "B's build with its feature off, or A in another layout",
                     "set another rev, args or env");
    }
    if (check.sound("/gates") != nullptr && deciding_gate(check.spec) == nullptr) {
        check.report("/arms/B0", "a layout control without a gate that decides",
                     "\"role\": \"decides\" in one gate: its metric is what B0 is measured by", "");
    }
}

void check_arms(JointCheck& check) {
    if (check.sound("/subject/program") == nullptr) {
        return;
    }
    for (const char* arm : {"A", "B", "B0"}) {
        check_arm(check, arm);
    }
    check_layout_control(check);
}

void check_difference(JointCheck& check) {
    const bool readable = check.sound("/arms/A") != nullptr && check.sound("/arms/B") != nullptr &&
                          (check.root.find("sweep") == nullptr || check.sound("/sweep") != nullptr);
    if (!readable || check.sound("/expect_diff") == nullptr) {
        return;
    }
    const Words real = arms_difference(check.spec);
    const std::string allowed =
        real.empty() ? "[]: the arms as written are equal (A/A)"
                     : "exactly what differs between A and B as written: " + listed(real);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < check.spec.expect_diff.size(); ++i) {
        const std::string& path = check.spec.expect_diff[i];
        const bool real_one = std::find(real.begin(), real.end(), path) != real.end();
        if (real_one && seen.insert(path).second) {
            continue;
        }
        const std::string meant = real_one ? "" : closest(path, real);
        check.report("/expect_diff/" + std::to_string(i),
                     shown_text(path) + (real_one ? ", a second time" : ""), allowed,
                     meant.empty() ? "" : "did you mean \"" + meant + "\"?");
    }
    for (const std::string& path : real) {
        if (seen.count(path) == 0) {
            check.report("/expect_diff", "no \"" + path + "\"", allowed,
                         "add it, or make the arms equal there");
        }
    }
}

void check_applied(JointCheck& check) {
    if (!check.outside || check.sound("/subject/program") == nullptr) {
        return;
    }
    for (const auto& [arm, rules] : check.spec.applied) {
        if (rules.empty() && check.sound("/applied/" + arm) != nullptr) {
            check.report("/applied/" + arm, "an empty object",
                         "one of log_has, log_lacks, file_has, counter_at_least", "");
        }
    }
}

using Cell = std::map<std::string, std::string>;

std::vector<Cell> cells_of(const Spec& spec) {
    std::vector<Cell> cells = {{}};
    for (const auto& [axis, values] : spec.matrix) {
        std::vector<Cell> wider;
        for (const Cell& cell : cells) {
            for (const std::string& value : values) {
                wider.push_back(cell);
                wider.back()[axis] = value;
            }
        }
        cells = std::move(wider);
    }
    return cells;
}

// A cell without a gate of its own would be left out without a word.
void check_cells_measured(JointCheck& check) {
    const Spec& spec = check.spec;
    const auto measures = [&](const Gate& gate, const Cell& cell) {
        return gate.level != Level::correctness &&
               std::all_of(gate.at.begin(), gate.at.end(), [&](const auto& one) {
                   const auto found = cell.find(one.first);
                   return found != cell.end() && found->second == one.second;
               });
    };
    for (const Cell& cell : cells_of(spec)) {
        const bool any = std::any_of(spec.gates.begin(), spec.gates.end(),
                                     [&](const Gate& gate) { return measures(gate, cell); });
        if (any) continue;
        Words named;
        for (const auto& [axis, value] : cell) {
            named.push_back(fmt::format("\"{}\": \"{}\"", escape_line(axis), escape_line(value)));
        }
        check.report(
            "/matrix",
            fmt::format("the cell {{ {} }}, which no gate measures", fmt::join(named, ", ")),
            "cells that a gate's \"at\" names",
            "add a gate at this cell, or take its value out of the matrix");
    }
}

void check_matrix(JointCheck& check) {
    if (!check.outside || check.sound("/matrix") == nullptr) {
        return;
    }
    std::size_t cells = 1;
    std::string arguments;
    for (const Gate& gate : check.spec.gates) {
        arguments += fmt::format("{}", fmt::join(gate.run, " "));
    }
    for (const auto& [name, arm] : check.spec.arms) {
        arguments += fmt::format("{} {}", fmt::join(arm.run, " "), fmt::join(arm.args, " "));
    }
    for (const auto& [axis, values] : check.spec.matrix) {
        cells *= values.size();
        const std::string at = pointer_join("/matrix", axis);
        if (std::set<std::string>(values.begin(), values.end()).size() != values.size()) {
            check.report(at, "a value twice", "each value once", "");
        }
        if (check.sound("/gates") != nullptr &&
            arguments.find("{" + axis + "}") == std::string::npos) {
            check.report(at, "an axis that no gate's run uses",
                         "axes that stand as {" + escape_line(axis) + "} in a run", "");
        }
    }
    if (cells > 16) {
        check.report("/matrix", fmt::format("{} cells", cells), "at most 16 cells in the product",
                     "split the question");
    } else if (check.from_people && check.sound("/gates") != nullptr) {
        check_cells_measured(check);
    }
}

void check_prediction(JointCheck& check) {
    const Gate* decides = deciding_gate(check.spec);
    const auto& predict = check.spec.hypothesis.predict;
    if (check.sound("/gates") == nullptr || resolve_pointer(check.root, "/hypothesis") == nullptr) {
        return;
    }
    if (!predict) {
        // `ab` asks at once; whoever writes a file for the own engine says what is expected.
        if (decides != nullptr && decides->goal == Goal::gain && !check.outside) {
            check.require("/hypothesis", "predict", "when a gate decides on a gain");
        }
        return;
    }
    if (check.sound("/hypothesis/predict") == nullptr) {
        return;
    }
    if (predict->low > predict->high) {
        check.report("/hypothesis/predict/change", "low above high", "[low, high] with low <= high",
                     "swap the two");
    }
    Words metrics;
    for (const Gate& gate : check.spec.gates) {
        if (!gate.metric.empty() && (decides == nullptr || &gate == decides)) {
            metrics.push_back(gate.metric);
        }
    }
    if (std::find(metrics.begin(), metrics.end(), predict->metric) == metrics.end()) {
        check.report("/hypothesis/predict/metric", shown_text(predict->metric),
                     decides != nullptr ? "the metric of the gate that decides: " + listed(metrics)
                                        : "the metric of a gate: " + listed(metrics),
                     "");
    }
    if (decides != nullptr && predict->at != decides->at) {
        check.report("/hypothesis/predict/at",
                     predict->at.empty() ? "no matrix cell" : "another matrix cell",
                     "the cell of the gate that decides" +
                         (decides->at.empty() ? std::string(", which has none")
                                              : ": \"at\": " + shown_cell(decides->at)),
                     "");
    }
}

void check_schedule(JointCheck& check) {
    if (check.root.find("schedule") != nullptr && check.sound("/schedule") == nullptr) {
        return;
    }
    const ScheduleSpec& schedule = check.spec.schedule;
    if (schedule.mode == Mode::lockstep && !check.outside) {
        check.report("/schedule/mode", "\"lockstep\" with steady-engine", "duet, process_pairs",
                     "a duet holds both arms in one process");
    }
    if (schedule.mode == Mode::lockstep && check.outside &&
        check.sound("/schedule/profile") != nullptr) {
        check.report("/schedule/profile", "a profile in lockstep", "process_pairs with a profile",
                     "in lockstep, a process lives through the turns of both arms and waits in "
                     "between: leave the key out");
    }
    const std::vector<const char*> others =
        check.outside ? std::vector<const char*>{"chunk", "warmup_tokens", "tokens"}
                      : std::vector<const char*>{"warmup_runs", "inner", "timeout_s", "profile"};
    for (const char* key : others) {
        check.forbid("/schedule", key,
                     check.outside ? "warmup_runs, inner, timeout_s, profile for an outside program"
                                   : "chunk, warmup_tokens, tokens for steady-engine",
                     "it would have no effect here");
    }
    for (const auto& [key, value] : {std::pair("warmup_tokens", schedule.warmup_tokens),
                                     std::pair("tokens", schedule.tokens)}) {
        if (value % schedule.chunk != 0) {
            check.report(std::string("/schedule/") + key, std::to_string(value),
                         fmt::format("a multiple of chunk, which is {}", schedule.chunk), "");
        }
    }
    constexpr int kFewestThatDecide = 10;
    if (schedule.pairs_max < kFewestThatDecide && deciding_gate(check.spec) != nullptr) {
        check.report("/schedule/pairs/max", std::to_string(schedule.pairs_max),
                     "a whole number from 10 to 1000 where a gate decides: nine pairs are the "
                     "fewest that can accept",
                     "");
    }
    constexpr int kMaxBlocks = 512;
    const int blocks = (schedule.warmup_tokens + schedule.tokens) / schedule.chunk;
    if (schedule.mode == Mode::duet && blocks > kMaxBlocks) {
        check.report("/schedule/chunk", fmt::format("{} blocks per pair", blocks),
                     fmt::format("at most {}: (warmup_tokens + tokens) / chunk", kMaxBlocks),
                     "raise chunk");
    }
    if (schedule.aa_pairs == 0) {
        check.warnings.emplace_back(
            "aa_pairs is 0: the A/A band comes from this machine's history alone");
    }
}

}  // namespace

void check_joint_rules(const Spec& spec, const JsonValue& root, std::string_view stem,
                       std::vector<JsonProblem>& problems, std::vector<std::string>& warnings,
                       bool from_people) {
    JointCheck check{spec,       root, problems, warnings, spec.subject.program == "outside",
                     from_people};
    check_id(check, stem);
    check_subject(check);
    check_arms(check);
    if (check.outside && check.sound("/subject/program") != nullptr) {
        check_command(check);
    }
    check_difference(check);
    check_applied(check);
    check_matrix(check);
    check_gates(check);
    check_prediction(check);
    check_schedule(check);
    check_sweep(check);
}

}  // namespace steady
