// The rules of a sweep: which axes a program has, where their values go, how many settings they
// make. That each setting is a sound experiment is seen by making it (spec.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "runner/base/text.h"
#include "runner/spec/spec_joint.h"
#include "runner/spec/spec_sweep.h"

namespace steady {
namespace {

using Words = std::vector<std::string>;

constexpr int kMostThreads = 1024;

bool holds(const Words& words, const std::string& place) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return word.find("{" + place + "}") != word.npos;
    });
}

// args.<name> fills {name} in B's words, and nothing else may be meant by it.
void check_place(JointCheck& check, const std::string& axis, const std::string& at) {
    const std::string place = axis.substr(kSweptPlace.size());
    if (place == "src" || place == "model" || check.spec.matrix.contains(place)) {
        check.report(at, "\"" + axis + "\"", "a name that {" + place + "} does not have already",
                     "");
        return;
    }
    const auto b = check.spec.arms.find("B");
    if (check.sound("/arms/B") == nullptr || b == check.spec.arms.end()) return;
    if (!holds(b->second.run, place) && !holds(b->second.args, place)) {
        check.report(at, "an axis that B's command does not use",
                     "axes that stand as {" + place + "} in B's run or args", "");
    }
}

bool is_thread_count(const std::string& value) {
    int count = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    return error == std::errc{} && end == value.data() + value.size() && count >= 1 &&
           count <= kMostThreads;
}

void check_values(JointCheck& check, const std::string& axis, const Words& values,
                  const std::string& at) {
    if (std::set<std::string>(values.begin(), values.end()).size() != values.size()) {
        check.report(at, "a value twice", "each value once", "");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto refuse = [&](const std::string& allowed) {
            check.report(at + "/" + std::to_string(i), shown_text(values[i]), allowed, "");
        };
        if (axis == "threads") {
            if (!is_thread_count(values[i]))
                refuse(fmt::format("a whole number from 1 to {}", kMostThreads));
        } else if (values[i].empty() && !axis.starts_with("env.")) {
            refuse("1 to 64 characters");
        }
    }
}

void check_axis(JointCheck& check, const std::string& axis, const Words& values) {
    const std::string at = pointer_join("/sweep/axes", axis);
    const bool environment = axis.starts_with("env.");
    const bool of_commands = environment || axis.starts_with(kSweptPlace);
    if (of_commands != check.outside) {
        check.report(at, "\"" + axis + "\"",
                     check.outside ? "args.<name> or env.<NAME> for an outside program"
                                   : "kernels.<op>, steps.<step>, engine_flags.<flag> or threads "
                                     "for steady-engine",
                     check.outside ? "args.level fills {level} in arm B's run or args" : "");
        return;
    }
    check_values(check, axis, values, at);
    if (environment) {
        const std::string variable = axis.substr(4);
        if (variable == "PATH" || variable.starts_with("LD_")) {
            check.report(at, "\"" + axis + "\"",
                         "variables that do not change which code is loaded",
                         "name the executable in run instead");
        }
    } else if (of_commands) {
        check_place(check, axis, at);
    }
}

}  // namespace

void check_sweep(JointCheck& check) {
    if (check.root.find("sweep") == nullptr || check.sound("/sweep") == nullptr ||
        check.sound("/subject/program") == nullptr) {
        return;
    }
    const SweepSpec& sweep = *check.spec.sweep;
    if (sweep.axes.empty()) {
        check.report("/sweep/axes", "an empty object",
                     check.outside ? "at least one path, e.g. args.level or env.POOL"
                                   : "at least one path, e.g. kernels.q4_0_matvec",
                     "");
    }
    std::size_t settings = 1;
    for (const auto& [axis, values] : sweep.axes) {
        check_axis(check, axis, values);
        settings = std::min(kMostSweepChoices + 1, settings * values.size());
    }
    if (settings > kMostSweepChoices) {
        check.report("/sweep/axes", "too many settings",
                     fmt::format("at most {} in the product of the axes", kMostSweepChoices),
                     "split the question");
    }
    if (check.sound("/gates") != nullptr && deciding_gate(check.spec) == nullptr) {
        check.report("/sweep", "a sweep without a gate that decides",
                     "\"role\": \"decides\" in one gate: its metric picks the best", "");
    }
    if (check.sound("/id") != nullptr && check.spec.id.size() > kLongestSweepId) {
        check.report("/id", fmt::format("{} characters", check.spec.id.size()),
                     fmt::format("at most {} with a sweep, which adds to it", kLongestSweepId), "");
    }
    if (sweep.screen_pairs > kMostScreened) {
        check.warnings.push_back(fmt::format(
            "screen_pairs is {}: at most {} pairs of each setting are measured, because they "
            "decide nothing",
            sweep.screen_pairs, kMostScreened));
    }
}

}  // namespace steady
