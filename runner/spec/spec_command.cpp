// Commands and the rules that only they have.
#include "runner/spec/spec_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/error.h"
#include "runner/base/pattern.h"
#include "runner/base/text.h"
#include "runner/spec/spec_joint.h"

namespace steady {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kShellOnly = "|&;<>()$`*?[";
constexpr std::string_view kShellFirst = "#~";  // at the beginning of a word

[[noreturn]] void refuse_shell(const std::string& line, char c) {
    throw Error(
        fmt::format("{}: found {}, which only a shell understands; commands run without "
                    "one. Quote it with ' if the program is to see it, or name the shell: "
                    "sh -c '…'",
                    line, c));
}

// What stands between two quotes, as a shell reads it; `at` moves past the second one. Within
// double quotes a shell still replaces variables and commands.
std::string quoted_part(const std::string& line, char quote, std::size_t& at) {
    std::string part;
    for (; at < line.size() && line[at] != quote; ++at) {
        const bool next = quote == '"' && line[at] == '\\' && at + 1 < line.size();
        if (next && std::string_view("\"\\$`").find(line[at + 1]) != std::string_view::npos)
            ++at;
        else if (quote == '"' && (line[at] == '$' || line[at] == '`'))
            refuse_shell(line, line[at]);
        part += line[at];
    }
    if (at == line.size())
        throw Error(fmt::format("{}: a {} is opened and never closed", line, quote));
    ++at;
    return part;
}

constexpr std::string_view kBetweenWords = " \t\n\r";

// The word that begins at `at`, which moves past it.
std::string next_word(const std::string& line, std::size_t& at) {
    std::string word;
    const std::size_t begin = at;
    while (at < line.size() && kBetweenWords.find(line[at]) == kBetweenWords.npos) {
        const char c = line[at++];
        if (c == '\\') {
            if (at == line.size())
                throw Error("a command ends with \\, which takes the next character");
            word += line[at++];
        } else if (c == '\'' || c == '"') {
            word += quoted_part(line, c, at);
        } else if (kShellOnly.find(c) != kShellOnly.npos ||
                   (at - 1 == begin && kShellFirst.find(c) != kShellFirst.npos)) {
            refuse_shell(line, c);
        } else {
            word += c;
        }
    }
    return word;
}

bool plain(const std::string& word) {
    return !word.empty() && word.find_first_of(" \t\n'\"\\") == word.npos &&
           word.find_first_of(kShellOnly) == word.npos &&
           kShellFirst.find(word[0]) == kShellFirst.npos;
}

}  // namespace

Words split_words(const std::string& line) {
    Words words;
    for (std::size_t at = 0; at < line.size();) {
        if (kBetweenWords.find(line[at]) != kBetweenWords.npos) {
            ++at;
        } else {
            words.push_back(next_word(line, at));
        }
    }
    if (words.empty()) throw Error("a command is empty: give a program and its arguments");
    return words;
}

std::string joined_words(const Words& words) {
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty()) line += ' ';
        if (plain(word)) {
            line += word;
        } else if (word.find('\'') == word.npos) {
            line += "'" + word + "'";
        } else {
            for (const char c : word)
                line += plain(std::string(1, c)) ? std::string(1, c) : std::string("\\") + c;
        }
    }
    return line;
}

Words fill_placeholders(const Words& arguments, const std::map<std::string, std::string>& values) {
    Words out;
    for (std::string argument : arguments) {
        for (const auto& [name, value] : values) {
            const std::string mark = "{" + name + "}";
            for (std::size_t at = argument.find(mark); at != argument.npos;
                 at = argument.find(mark, at + value.size())) {
                argument.replace(at, mark.size(), value);
            }
        }
        out.push_back(std::move(argument));
    }
    return out;
}

Words arm_command(const Spec& spec, const std::string& name, const Gate* gate) {
    const ArmSpec& arm = spec.arms.at(name);
    Words command = gate != nullptr && !gate->run.empty() ? gate->run : arm.run;
    command.insert(command.end(), arm.args.begin(), arm.args.end());
    std::map<std::string, std::string> cell;
    for (const auto& [axis, values] : spec.matrix) {
        if (values.size() == 1) cell[axis] = values[0];
    }
    if (gate != nullptr) {
        for (const auto& [axis, value] : gate->at) cell[axis] = value;
    }
    return fill_placeholders(command, cell);
}

bool higher_is_better(const Gate& gate) {
    return gate.direction ? *gate.direction == Direction::higher_is_better
                          : higher_is_better(gate.metric);
}

std::string arm_label(const Spec& spec, const std::string& name, bool as_judged) {
    const auto a = spec.arms.find("A"), b = spec.arms.find("B"), own = spec.arms.find(name);
    if (!is_outside(spec) || a == spec.arms.end() || b == spec.arms.end() ||
        own == spec.arms.end()) {
        return name;
    }
    const auto quoted = [](const std::string& text) {
        std::string line = shorten(safe_line(text), 60);
        std::replace(line.begin(), line.end(), '`', '\'');
        return "`" + line + "`";
    };
    if (a->second.run != b->second.run)
        return quoted(joined_words(arm_command(spec, name, nullptr)));
    std::string told = a->second.rev != b->second.rev ? own->second.rev.substr(0, 40) : "";
    if (a->second.args != b->second.args) {
        told += (told.empty() ? "" : " ") + joined_words(own->second.args);
    }
    for (const std::string& path : arms_difference(spec)) {
        if (!path.starts_with("env.")) continue;
        const auto value = own->second.env.find(path.substr(4));
        const std::string variable = path.substr(4);
        told += told.empty() ? "" : " ";
        if (value != own->second.env.end())
            told += variable + "=" + value->second;
        else
            told += as_judged ? variable + "=" : "(" + variable + " unset)";
    }
    return told.empty() ? name : quoted(told);
}

// --- the rules ---

namespace {

bool has(const JointCheck& check, const std::string& pointer) {
    return resolve_pointer(check.root, pointer) != nullptr;
}

// False when there is nothing that {src} could mean, and nobody was told yet.
bool check_builds(JointCheck& check) {
    const bool repo = has(check, "/subject/repo");
    bool built = has(check, "/subject/build");
    for (const char* arm : {"A", "B", "B0"}) {
        const std::string at = std::string("/arms/") + arm;
        built = built || has(check, at + "/rev");
        if (repo && has(check, at)) {
            check.require(at, "rev", "with a repo: the revision to build");
        }
    }
    if (built && !repo) {
        check.require("/subject", "repo", "for an outside program that is built from revisions");
    }
    if (!repo && !built) {
        check.require("/subject", "name",
                      "for an outside program without a repo: a label for its history");
    }
    return repo || built;
}

void check_mode(JointCheck& check) {
    if (check.sound("/schedule/mode") == nullptr || check.spec.schedule.mode != Mode::duet) {
        return;
    }
    const auto a = check.spec.arms.find("A"), b = check.spec.arms.find("B");
    const bool two =
        a != check.spec.arms.end() && b != check.spec.arms.end() && a->second.rev != b->second.rev;
    check.report("/schedule/mode", two ? "\"duet\" with two builds" : "\"duet\" with two commands",
                 "process_pairs or lockstep for an outside program: its arms are two processes",
                 "set \"mode\": \"process_pairs\"");
}

// Both processes live through the whole pair, so only what they say of a turn is of that turn.
void check_lockstep(JointCheck& check, const Gate& gate, const std::string& at) {
    if (check.spec.schedule.mode != Mode::lockstep || gate.level == Level::correctness) return;
    if (!gate.adapter.empty() && gate.adapter != "process" && gate.adapter != "lines") {
        check.report(at + "/adapter", "\"" + gate.adapter + "\" in lockstep",
                     "process (wall_seconds of a turn) or lines (what the program reports)",
                     "runner/programs/lockstep/README.md has the protocol");
    } else if (gate.adapter != "lines" && gate.metric != "wall_seconds") {
        check.report(at + "/metric", "\"" + gate.metric + "\" in lockstep",
                     "wall_seconds, or with \"adapter\": \"lines\" what the program reports", "");
    }
}

void check_runs(JointCheck& check) {
    const auto& gates = check.spec.gates;
    const bool inherited =
        std::any_of(gates.begin(), gates.end(), [](const Gate& gate) { return gate.run.empty(); });
    for (const auto& [name, arm] : check.spec.arms) {
        if (inherited && arm.run.empty() && check.sound("/arms/" + name) != nullptr) {
            check.report("/arms/" + name, "no key \"run\"",
                         "\"run\" in each arm, or in each gate: the command as a list of arguments",
                         "");
        }
    }
}

void refuse_source_without_repo(JointCheck& check, const Words& arguments, const std::string& at) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].find("{src}") != std::string::npos) {
            check.report(at + "/" + std::to_string(i), "{src} without a repo",
                         "{src} where subject.repo names a repository", "");
        }
    }
}

}  // namespace

void check_command(JointCheck& check) {
    const bool sources = check_builds(check);
    check_mode(check);
    check_runs(check);
    if (has(check, "/subject/workload")) {
        check.forbid("/subject", "workload",
                     "nothing here: an outside program gets its input by run", "");
    }
    if (!sources) {
        for (const auto& [name, arm] : check.spec.arms) {
            refuse_source_without_repo(check, arm.run, "/arms/" + name + "/run");
            refuse_source_without_repo(check, arm.args, "/arms/" + name + "/args");
        }
        for (std::size_t i = 0; i < check.spec.gates.size(); ++i) {
            refuse_source_without_repo(check, check.spec.gates[i].run,
                                       fmt::format("/gates/{}/run", i));
        }
    }
}

namespace {

void check_expression(JointCheck& check, const std::string& at, const std::string& text,
                      const std::string& group = "") {
    try {
        const auto groups = Pattern(text).named_groups();
        const bool there = std::any_of(groups.begin(), groups.end(),
                                       [&](const auto& one) { return one.first == group; });
        if (group.empty() || there) return;
        check.report(at, shown_text(text) + " without a group " + group,
                     fmt::format("a regular expression with a group (?<{}>…)", group), "");
    } catch (const Error& error) {
        check.report(at, shown_text(text), "a regular expression", escape_line(error.what()));
    }
}

void check_expressions(JointCheck& check, const Gate& gate, const std::string& at) {
    constexpr std::string_view kMatches = "matches:";
    const auto rule = gate.need.find("stdout");
    if (rule != gate.need.end() && rule->second.text.starts_with(kMatches)) {
        check_expression(check, at + "/need/stdout", rule->second.text.substr(kMatches.size()));
    }
    if (!gate.pattern.empty())
        check_expression(check, at + "/pattern", gate.pattern, check.from_people ? "value" : "");
    if ((gate.adapter == "regex") != !gate.pattern.empty()) {
        check.report(at, gate.pattern.empty() ? "no key \"pattern\"" : "\"pattern\"",
                     "\"pattern\" with the adapter regex, and only there",
                     "an expression with a group (?<value>...)");
    }
}

// A check that is given neither output, and a selection where no row has a label, decide nothing.
void check_outputs_seen(JointCheck& check, const Gate& gate, const std::string& at) {
    const bool sees = std::any_of(gate.check.begin(), gate.check.end(), [](const auto& word) {
        return word.find("{out_a}") != word.npos || word.find("{out_b}") != word.npos;
    });
    if (!gate.check.empty() && !sees) {
        check.report(at + "/need/check", "a command without {out_a} and {out_b}",
                     "a command that is given what the arms printed, as the files {out_a} and "
                     "{out_b}",
                     "");
    }
    if (!gate.select.empty() && (gate.adapter.empty() || gate.adapter == "process")) {
        check.report(at + "/select", shown_text(gate.select) + " with the adapter process",
                     "\"select\" with an adapter whose rows have labels",
                     "what the kernel counts is one row of each metric");
    }
}

}  // namespace

void check_command_gate(JointCheck& check, const Gate& gate, const std::string& at) {
    check_expressions(check, gate, at);
    if (check.from_people) check_outputs_seen(check, gate, at);
    check_lockstep(check, gate, at);
    const bool measures = gate.level != Level::correctness && !gate.metric.empty();
    if (measures && !gate.direction && !find_metric(gate.metric).direction &&
        check.sound(at + "/metric") != nullptr) {
        check.report(
            at, "no key \"direction\"",
            "\"direction\" is required for a metric that Steady does not know: lower or higher",
            shown_text(gate.metric) + " does not say which values are better");
    }
}

}  // namespace steady
