// Rules of the ladder: order of levels, who may decide, and which fields have an effect on which
// kind of gate. A field without effect is an error, since its author expects one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runner/base/text.h"
#include "runner/spec/spec_joint.h"

namespace steady {
namespace {

using Words = std::vector<std::string>;

const Words& engine_metrics(Level level) {
    static const std::map<Level, Words> metrics = {
        {Level::correctness, {}},
        {Level::micro, {"op_ns"}},
        {Level::block, {"block_ns", "ffn_ns"}},
        {Level::model, {"decode_tps", "token_ns_p90", "ttft_ns", "rss_bytes"}},
    };
    return metrics.at(level);
}

// Fields that mean something for this gate, besides id, level and role.
Words useful_fields(const Gate& gate, bool outside) {
    if (gate.level == Level::correctness) {
        return outside ? Words{"need", "run", "at"} : Words{"need"};
    }
    Words out = {"metric"};
    if (gate.level == Level::micro && !outside) {
        out.emplace_back("op");
    }
    if (outside) {
        out.insert(out.end(), {"at", "adapter", "run", "pattern", "select", "stat", "direction"});
    }
    if (gate.role == Role::decides) {
        out.insert(out.end(), {"goal", "alpha", "beta"});
        if (gate.goal == Goal::equivalent) {
            out.emplace_back("margin");
        } else {
            out.insert(out.end(), {"worth", "floor"});
        }
    } else if (gate.role == Role::guard) {
        out.insert(out.end(), {"margin", "alpha_guard", "beta"});
    }
    return out;
}

void check_fields(JointCheck& check, const Gate& gate, const std::string& at) {
    const Words useful = useful_fields(gate, check.outside);
    for (const char* key :
         {"metric", "op", "need", "goal", "worth", "floor", "margin", "alpha", "beta",
          "alpha_guard", "at", "adapter", "run", "pattern", "select", "stat", "direction"}) {
        if (std::find(useful.begin(), useful.end(), key) == useful.end()) {
            check.forbid(at, key,
                         fmt::format("id, level, role, {} on a gate of level {}, role {}{}",
                                     fmt::join(useful, ", "), name(gate.level), name(gate.role),
                                     gate.goal == Goal::equivalent ? ", goal equivalent" : ""),
                         "it would have no effect here");
        }
    }
    if (gate.level == Level::correctness) {
        check.require(at, "need", "on a correctness gate");
    } else {
        check.require(at, "metric", "on a gate that measures");
    }
    if (gate.level == Level::micro && !check.outside) {
        check.require(at, "op", "on a micro gate");
    }
}

void check_role(JointCheck& check, const Gate& gate, const std::string& at) {
    if (gate.role == Role::decides && gate.level != Level::model) {
        check.report(
            at + "/role", "\"decides\" at level " + std::string(name(gate.level)),
            gate.level == Level::correctness ? "guard at level correctness" : "advice, guard",
            "only a gate at level model decides");
    }
    if (gate.role == Role::advice && gate.level == Level::correctness) {
        check.report(at + "/role", "\"advice\"", "guard at level correctness",
                     "a wrong answer must stop the experiment");
    }
}

void check_metric(JointCheck& check, const Gate& gate, const std::string& at) {
    if (check.outside || gate.level == Level::correctness ||
        check.sound(at + "/metric") == nullptr) {
        return;
    }
    const Words& metrics = engine_metrics(gate.level);
    if (std::find(metrics.begin(), metrics.end(), gate.metric) != metrics.end()) {
        return;
    }
    Words every;
    for (const Level level : {Level::micro, Level::block, Level::model}) {
        const Words& more = engine_metrics(level);
        every.insert(every.end(), more.begin(), more.end());
    }
    const std::string meant = closest(gate.metric, metrics);
    const bool other = std::find(every.begin(), every.end(), gate.metric) != every.end();
    check.report(at + "/metric", shown_text(gate.metric),
                 fmt::format("{} at level {}", fmt::join(metrics, ", "), name(gate.level)),
                 other            ? "that metric belongs to another level"
                 : !meant.empty() ? "did you mean \"" + meant + "\"?"
                                  : "");
}

void check_op(JointCheck& check, const Gate& gate, const std::string& at) {
    const bool readable = check.sound(at + "/op") != nullptr && check.sound("/arms/A") != nullptr &&
                          check.sound("/arms/B") != nullptr;
    if (check.outside || gate.level != Level::micro || !readable) {
        return;
    }
    std::set<std::string> ops;
    for (const char* arm : {"A", "B"}) {
        for (const auto& [op, variant] : check.spec.arms.at(arm).kernels) {
            ops.insert(op);
        }
    }
    for (const std::string& path : arms_difference(check.spec)) {
        if (path.rfind("kernels.", 0) == 0) {
            ops.insert(path.substr(8));
        }
    }
    if (ops.count(gate.op) == 0 && ops.count("*") == 0) {
        const Words choices(ops.begin(), ops.end());
        const std::string meant = closest(gate.op, choices);
        check.report(at + "/op", shown_text(gate.op),
                     choices.empty() ? "no micro gate: the arms name no kernels"
                                     : fmt::format("an op under \"kernels\" of the arms: {}",
                                                   fmt::join(choices, ", ")),
                     meant.empty() ? "timing an op that is equal in both arms says nothing"
                                   : "did you mean \"" + meant + "\"?");
    }
    const auto device = [&](const char* arm) {
        const std::string gpu = gpu_device(check.spec.arms.at(arm));
        return gpu.empty() ? "cpu" : gpu;
    };
    if (device("A") != device("B")) {
        check.report(
            at + "/level",
            fmt::format("\"micro\" with arm A on {} and arm B on {}", device("A"), device("B")),
            "no micro gate: an op alone is timed on one device",
            "gates of level block and model compare devices");
    }
}

void check_need(JointCheck& check, const Gate& gate, const std::string& at) {
    const JsonValue* need = check.sound(at + "/need");
    if (need == nullptr || gate.level != Level::correctness) {
        return;
    }
    static const Words of_commands = {"exit", "stdout", "file", "check"};
    const std::string all = check.outside
                                ? "one or more of exit, stdout, file, check for an outside program"
                                : "one or more of top1_agree, kl, kl_max, max_abs, rel_l2";
    if (gate.need.empty()) {
        check.report(at + "/need", "an empty object", all, "");
    }
    for (const auto& [key, bound] : gate.need) {
        const std::string pointer = at + "/need/" + key;
        const bool command =
            std::find(of_commands.begin(), of_commands.end(), key) != of_commands.end();
        if (command != check.outside) {
            check.report(pointer, "\"" + key + "\"", all, "");
        } else if (command) {
            continue;
        } else if (key == "top1_agree" &&
                   (bound.sense != Bound::Sense::at_least || bound.value > 1)) {
            check.report(pointer, shown_text(bound.text), "\">=\" and a share from 0 to 1", "");
        } else if (key != "top1_agree" && bound.sense == Bound::Sense::at_least) {
            check.report(pointer, shown_text(bound.text), "\"<=\" and a number",
                         "a distance is bounded from above");
        }
    }
}

void check_cell(JointCheck& check, const Gate& gate, const std::string& at) {
    const bool readable = check.root.find("matrix") == nullptr || check.sound("/matrix") != nullptr;
    if (!check.outside || !readable) {
        return;
    }
    std::size_t cells = 1;
    bool used = gate.level != Level::correctness;
    for (const auto& [axis, values] : check.spec.matrix) {
        cells *= values.size();
        Words arguments = gate.run;
        for (const auto& [name, arm] : check.spec.arms) {
            if (gate.run.empty()) arguments.insert(arguments.end(), arm.run.begin(), arm.run.end());
            arguments.insert(arguments.end(), arm.args.begin(), arm.args.end());
        }
        for (const std::string& argument : arguments) {
            used = used || argument.find("{" + axis + "}") != std::string::npos;
        }
    }
    if (cells > 1 && used) {
        check.require(at, "at", "when the matrix has more than one cell");
    }
    if (check.sound(at + "/at") == nullptr) {
        return;
    }
    for (const auto& [axis, value] : gate.at) {
        const auto known = check.spec.matrix.find(axis);
        if (known == check.spec.matrix.end()) {
            check.report(pointer_join(at + "/at", axis), "the axis \"" + escape_line(axis) + "\"",
                         "axes of the matrix", "");
        } else if (std::find(known->second.begin(), known->second.end(), value) ==
                   known->second.end()) {
            check.report(pointer_join(at + "/at", axis), shown_text(value),
                         "one of " + escape_line(fmt::format("{}", fmt::join(known->second, ", "))),
                         "");
        }
    }
    for (const auto& [axis, values] : check.spec.matrix) {
        if (values.size() > 1 && gate.at.count(axis) == 0) {
            check.report(at + "/at", "no \"" + escape_line(axis) + "\"",
                         "a value for each axis of the matrix", "");
        }
    }
}

// The word of the next {word} in text, which loses everything up to its end; empty: no more.
std::string next_placeholder(std::string_view& text) {
    const auto fits = [](std::string_view word) {
        constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
        return !word.empty() && word.size() <= 32 && kLetters.find(word[0]) != word.npos &&
               word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == word.npos;
    };
    for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
        const std::size_t close = text.find('}', open);
        if (close == text.npos) break;
        const std::string_view word = text.substr(open + 1, close - open - 1);
        if (fits(word)) {
            text.remove_prefix(close + 1);
            return std::string(word);
        }
    }
    return {};
}

// What the commands of gates and arms may hold.
Words run_places(const JointCheck& check, const Words& more = {}) {
    Words names = {"src", "model"};
    names.insert(names.end(), more.begin(), more.end());
    for (const auto& [axis, values] : check.spec.matrix) {
        names.push_back(escape_line(axis));
    }
    return names;
}

void check_placeholders(JointCheck& check, const Words& arguments, const std::string& at,
                        const Words& names) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string_view rest = arguments[i];
        for (std::string word = next_placeholder(rest); !word.empty();
             word = next_placeholder(rest)) {
            if (std::find(names.begin(), names.end(), word) != names.end()) {
                continue;
            }
            const std::string meant = closest(word, names);
            check.report(at + "/" + std::to_string(i), "{" + word + "}",
                         fmt::format("{{{}}}", fmt::join(names, "}, {")),
                         meant.empty() ? "" : "did you mean {" + meant + "}?");
        }
    }
}

void check_commands(JointCheck& check) {
    // Both arms and all cells share a build. Files that were stored may hold what no build fills
    // in.
    const Words built = check.from_people ? Words{"src", "jobs"} : run_places(check, {"jobs"});
    for (std::size_t i = 0; i < check.spec.subject.build.size(); ++i) {
        check_placeholders(check, check.spec.subject.build[i],
                           "/subject/build/" + std::to_string(i), built);
    }
    for (std::size_t i = 0; i < check.spec.gates.size(); ++i) {
        check_placeholders(check, check.spec.gates[i].run, fmt::format("/gates/{}/run", i),
                           run_places(check));
        check_placeholders(check, check.spec.gates[i].check, fmt::format("/gates/{}/need/check", i),
                           run_places(check, {"out_a", "out_b"}));
    }
    Words swept;  // args.<name> of a sweep fills {name} in arm B
    if (check.spec.sweep) {
        for (const auto& [axis, values] : check.spec.sweep->axes) {
            if (axis.starts_with("args.")) swept.push_back(escape_line(axis.substr(5)));
        }
    }
    for (const auto& [arm, spec] : check.spec.arms) {
        const Words names = run_places(check, arm == "B" ? swept : Words{});
        check_placeholders(check, spec.run, "/arms/" + arm + "/run", names);
        check_placeholders(check, spec.args, "/arms/" + arm + "/args", names);
    }
}

void check_ladder(JointCheck& check) {
    std::set<std::string> ids;
    std::size_t n_correctness = 0;
    std::size_t n_decides = 0;
    Level reached = Level::correctness;
    for (std::size_t i = 0; i < check.spec.gates.size(); ++i) {
        const Gate& gate = check.spec.gates[i];
        const std::string at = "/gates/" + std::to_string(i);
        if (check.sound(at + "/id") != nullptr && !ids.insert(gate.id).second) {
            check.report(at + "/id", shown_text(gate.id), "an id that no other gate has", "");
        }
        if (check.sound(at + "/level") == nullptr) {
            ++n_correctness;  // unknown: do not complain that there is none
            continue;
        }
        n_correctness += gate.level == Level::correctness ? 1 : 0;
        if (gate.level < reached) {
            check.report(
                at + "/level", fmt::format("\"{}\" after {}", name(gate.level), name(reached)),
                "gates in the order correctness, micro, block, model", "move this gate up");
        }
        reached = std::max(reached, gate.level);
        if (gate.role == Role::decides && check.sound(at + "/role") != nullptr && ++n_decides > 1) {
            check.report(at + "/role", "a second \"decides\"", "one gate that decides",
                         "make this one a guard");
        }
    }
    if (n_correctness == 0 && !check.spec.gates.empty()) {
        check.report("/gates", "no gate of level correctness", "at least one, before the others",
                     "a faster wrong answer must not pass");
    }
    if (n_decides == 0) {
        check.warnings.emplace_back(
            "no gate decides: the best outcome is inconclusive / micro_only");
    }
}

}  // namespace

void check_gates(JointCheck& check) {
    const JsonValue* gates = check.root.find("gates");
    if (gates == nullptr || gates->kind != JsonValue::Kind::array ||
        check.sound("/subject/program") == nullptr) {
        return;
    }
    check_ladder(check);
    for (std::size_t i = 0; i < check.spec.gates.size(); ++i) {
        const Gate& gate = check.spec.gates[i];
        const std::string at = "/gates/" + std::to_string(i);
        const bool typed =
            check.sound(at + "/level") != nullptr && check.sound(at + "/role") != nullptr;
        if (!typed) {
            continue;
        }
        check_fields(check, gate, at);
        check_role(check, gate, at);
        check_metric(check, gate, at);
        check_op(check, gate, at);
        check_need(check, gate, at);
        check_cell(check, gate, at);
        if (check.outside) {
            check_command_gate(check, gate, at);
        }
    }
    check_commands(check);
}

}  // namespace steady
