// Verb defaults: which verdict each default rests on, whether the code is still the one that was
// measured, and what is open on each class of CPU.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/exec/champions_code.h"
#include "engine/exec/code.h"
#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"

namespace steady {
namespace {

// Ops and steps that a CPU, or a GPU, ever decided, in the order of the table.
std::vector<std::string_view> decided_ops(bool by_gpu) {
    std::vector<std::string_view> ops;
    for (const Champion& one : champions()) {
        if (one.journal.empty() || is_gpu(one.decided_on) != by_gpu) continue;
        if (std::find(ops.begin(), ops.end(), one.op) == ops.end()) ops.push_back(one.op);
    }
    return ops;
}

// The evidence of the first default that a class decided for an op, which is the one it takes.
Evidence evidence_on(std::string_view op, std::string_view name) {
    for (const Champion& one : champions()) {
        if (one.op == op && !one.journal.empty() && decided_on_class(one, name)) {
            return evidence_of(one);
        }
    }
    return Evidence::none;
}

struct ClassState {
    std::vector<std::string> measured, changed, never;
};

// `name`: of a class of CPU, or of a GPU.
ClassState state_of(std::string_view name) {
    ClassState state;
    for (const std::string_view op : decided_ops(is_gpu(name))) {
        const Evidence evidence = evidence_on(op, name);
        (evidence == Evidence::current ? state.measured
         : evidence == Evidence::none  ? state.never
                                       : state.changed)
            .emplace_back(op);
    }
    return state;
}

std::string joined_ops(const std::vector<std::string>& ops) {
    std::string out;
    for (const std::string& op : ops) out += (out.empty() ? "`" : ", `") + op + "`";
    return out.empty() ? "none" : out;
}

std::set<std::string> known_classes() {
    std::set<std::string> classes;
    for (const Champion& one : champions()) {
        if (!one.decided_on.empty()) classes.emplace(one.decided_on);
    }
    return classes;
}

nlohmann::ordered_json defaults_json() {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Champion& one : champions()) {
        const MeasuredCode* row = measured_code_of(one);
        const Evidence evidence = evidence_of(one);
        const bool open = evidence != Evidence::current && evidence != Evidence::none;
        rows.push_back({{"op", one.op},
                        {"variant", one.variant},
                        {"cpu_class", is_gpu(one.decided_on) ? "" : one.decided_on},
                        {"gpu", is_gpu(one.decided_on) ? one.decided_on : ""},
                        {"entry", one.journal},
                        {"code", code_of(one.op, one.variant)},
                        {"code_measured", row == nullptr ? "" : row->hash},
                        {"open", open},
                        {"declared_open", row != nullptr && row->open},
                        {"evidence", words_of(evidence)}});
    }
    nlohmann::ordered_json classes = nlohmann::ordered_json::object();
    std::set<std::string> names = known_classes();
    names.insert(cpu::class_name());
    for (const std::string& name : names) {
        const ClassState state = state_of(name);
        classes[name] = {
            {"measured", state.measured}, {"changed", state.changed}, {"never_asked", state.never}};
    }
    nlohmann::ordered_json flags = nlohmann::ordered_json::array();
    for (const Champion& one : flag_champions()) {
        flags.push_back({{"flag", one.op},
                         {"value", one.variant},
                         {"cpu_class", is_gpu(one.decided_on) ? "" : one.decided_on},
                         {"gpu", is_gpu(one.decided_on) ? one.decided_on : ""},
                         {"entry", one.journal}});
    }
    return {
        {"here", cpu::class_name()}, {"defaults", rows}, {"flags", flags}, {"classes", classes}};
}

}  // namespace

std::string defaults_text(std::string_view only_class) {
    std::string out =
        "| op, step or flag | default | decided on | entry | code |\n| --- | --- | --- | --- | --- "
        "|\n";
    for (const Champion& one : champions()) {
        if (one.journal.empty()) continue;
        if (!only_class.empty() && !decided_on_class(one, only_class)) continue;
        out += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", one.op, one.variant, one.decided_on,
                           one.journal, words_of(evidence_of(one)));
    }
    for (const Champion& one : flag_champions()) {
        if (!only_class.empty() && !decided_on_class(one, only_class)) continue;
        out += fmt::format("| `--{}` | `{}` | {} | {} | a flag |\n", one.op, one.variant,
                           one.decided_on, one.journal);
    }
    out +=
        "\n| CPU class or GPU | measured with today's code | code changed since | never asked "
        "there |\n"
        "| --- | --- | --- | --- |\n";
    std::set<std::string> classes = known_classes();
    if (!only_class.empty()) classes = {std::string(only_class)};
    for (const std::string& name : classes) {
        const ClassState state = state_of(name);
        out += fmt::format("| {} | {} | {} | {} |\n", name, joined_ops(state.measured),
                           joined_ops(state.changed), joined_ops(state.never));
    }
    return out;
}

int run_defaults(const Arguments& arguments) {
    std::string only = arguments.text("--class");
    if (only == "here") only = cpu::class_name();
    if (arguments.json()) {
        fmt::print("{}\n", defaults_json().dump());
    } else {
        fmt::print("{}", defaults_text(only));
    }
    return kExitOk;
}

}  // namespace steady
