// The registration file: the same strict table as the experiment file's, then what joins fields.
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "runner/adapters/adapter.h"
#include "runner/base/json_reader.h"
#include "runner/programs/registry/command_template.h"
#include "runner/programs/registry/registered_program.h"
#include "runner/spec/rule_builders.h"

namespace steady {
namespace {

using Words = std::vector<std::string>;
using Problems = std::vector<JsonProblem>;

using rules::integer;
using rules::list;
using rules::map;
using rules::object;
using rules::pattern;
using rules::text;
using rules::words;

Words adapter_names() {
    std::set<std::string> names{"process"};
    for (const Adapter& adapter : adapters()) names.insert(adapter.name);
    return {names.begin(), names.end()};
}

SpecRule limits() {
    return object({
        {"memory_mb", false, integer(16, 16U << 20U),
         "Of all processes together; absent: no limit."},
        {"scratch_mb", false, integer(1, 1U << 20U), "Of /tmp; absent: 1024."},
        {"processes", false, integer(1, 100000), "And threads, together; absent: 512."},
        {"cpus", false,
         pattern("^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$",
                 "CPUs of this machine, such as 1 or 2-3,6", 100),
         "On which its measured runs are; absent: all."},
        {"build_minutes", false, integer(1, 1440), "For the whole build; absent: 60."},
    });
}

const SpecRule& program_rules() {
    const SpecRule command = list(text(1, 2000), 1, 100);
    const SpecRule path = pattern("^/[^\\0]*$", "an absolute path", 500);
    const SpecRule variable = text(1, 1000);
    const char* variables = "^[A-Z_][A-Z0-9_]*$";
    const char* variable_meaning = "the name of an environment variable";
    static const SpecRule rules = object({
        {"name", true,
         pattern("^[a-z0-9][a-z0-9-]{1,39}$", "2 to 40 of a-z 0-9 -, equal to the file's stem", 40),
         "What experiments call it."},
        {"repository", true, path, "A git repository on this machine."},
        {"refs", true, list(text(1, 200), 1, 50),
         "Branches and tags that may be measured; * is any."},
        {"build", false, list(command, 1, 20), "Commands that build a revision; {src}, {jobs}."},
        {"run", true, list(command, 1, 20), "Commands that may be measured, with {arguments}."},
        {"arguments", false,
         map("^[a-z][a-z0-9_]*$", "the name of an argument",
             object({{"pattern", true, text(1, 500), "What the whole value must match."},
                     {"example", true, text(1, 500), "A value for `steady program check`."}}),
             64),
         "Every {argument} of run."},
        {"adapters", false, list(words(adapter_names()), 1, 20), "What may read its output."},
        {"env", false, map(variables, variable_meaning, variable, 64), "Always set."},
        {"env_allowed", false, map(variables, variable_meaning, text(1, 500), 64),
         "Variables that arms may set, with the pattern of their values."},
        {"network", false, words({"no", "yes"}), "Whether it sees the network; absent: no."},
        {"readable", false, list(path, 1, 20), "Further folders that it may read."},
        {"limits", false, limits(), "Memory, scratch space, processes, CPUs, build time."},
    });
    return rules;
}

const JsonValue& at(const JsonValue& value, std::string_view key) {
    static const JsonValue none;
    const JsonValue* found = value.find(key);
    return found == nullptr ? none : *found;
}

Words words_of(const JsonValue& value) {
    Words out;
    for (const JsonValue& item : value.items) out.push_back(item.text);
    return out;
}

std::vector<Words> commands_of(const JsonValue& value) {
    std::vector<Words> out;
    for (const JsonValue& item : value.items) out.push_back(words_of(item));
    return out;
}

std::map<std::string, std::string> map_of(const JsonValue& value) {
    std::map<std::string, std::string> out;
    for (const JsonMember& member : value.members) out[member.key] = member.value.text;
    return out;
}

template <class T>
void take_count(const JsonValue& value, T& into) {
    if (const auto number = value.unsigned_integer()) into = static_cast<T>(*number);
}

RegisteredProgram decode(const JsonValue& root) {
    RegisteredProgram program;
    program.name = at(root, "name").text;
    program.repository = at(root, "repository").text;
    program.refs = words_of(at(root, "refs"));
    program.build = commands_of(at(root, "build"));
    program.run = commands_of(at(root, "run"));
    for (const JsonMember& member : at(root, "arguments").members) {
        program.arguments[member.key] = {at(member.value, "pattern").text,
                                         at(member.value, "example").text};
    }
    program.adapters = words_of(at(root, "adapters"));
    program.env = map_of(at(root, "env"));
    program.env_allowed = map_of(at(root, "env_allowed"));
    program.network = at(root, "network").text == "yes";
    program.readable = words_of(at(root, "readable"));
    const JsonValue& bounds = at(root, "limits");
    take_count(at(bounds, "memory_mb"), program.memory_mb);
    take_count(at(bounds, "scratch_mb"), program.scratch_mb);
    take_count(at(bounds, "processes"), program.processes);
    program.cpus = at(bounds, "cpus").text;
    take_count(at(bounds, "build_minutes"), program.build_minutes);
    return program;
}

void report(const JsonValue& root, const std::string& pointer, const std::string& allowed,
            const std::string& hint, Problems& problems) {
    const JsonValue* value = resolve_pointer(root, pointer);
    problems.push_back({pointer, value->line, value->column, shown(*value), allowed, hint});
}

bool is_expression(const std::string& pattern) {
    try {
        static_cast<void>(std::regex(pattern));
        return true;
    } catch (const std::regex_error&) {
        return false;
    }
}

void check_patterns(const RegisteredProgram& program, const JsonValue& root, Problems& problems) {
    const std::string allowed = "a regular expression (ECMAScript) for the whole value";
    for (const auto& [name, rule] : program.arguments) {
        const std::string pointer = pointer_join("/arguments", name);
        if (!is_expression(rule.pattern)) {
            report(root, pointer + "/pattern", allowed, "", problems);
        } else if (!matches_whole(rule.pattern, rule.example)) {
            report(root, pointer + "/example", "text that matches " + rule.pattern,
                   "correct the example or the pattern", problems);
        }
    }
    for (const auto& [name, pattern] : program.env_allowed) {
        if (is_expression(pattern)) continue;
        report(root, pointer_join("/env_allowed", name), allowed, "", problems);
    }
}

void check_templates(const RegisteredProgram& program, const JsonValue& root, Problems& problems) {
    std::set<std::string> used;
    for (std::size_t i = 0; i < program.run.size(); ++i) {
        for (std::size_t j = 0; j < program.run[i].size(); ++j) {
            const std::string& one = program.run[i][j];
            const std::string pointer = fmt::format("/run/{}/{}", i, j);
            const Words names = placeholders(one);
            used.insert(names.begin(), names.end());
            if (j == 0 && !names.empty()) {
                report(root, pointer, "a fixed program: the first word takes no arguments", "",
                       problems);
            }
            if (one.find("...}") != std::string::npos &&
                (!stands_for_many(one) || j + 1 != program.run[i].size())) {
                report(root, pointer, "{name...} as the whole last word", "", problems);
            }
            for (const std::string& name : names) {
                if (program.arguments.contains(name)) continue;
                report(root, pointer, "an argument that \"arguments\" describes",
                       "add \"" + name + "\" to \"arguments\"", problems);
            }
        }
    }
    for (const auto& [name, rule] : program.arguments) {
        if (used.contains(name)) continue;
        report(root, pointer_join("/arguments", name), "arguments that \"run\" uses",
               "write {" + name + "} into a command, or remove it", problems);
    }
}

}  // namespace

ProgramResult parse_program(std::string_view text, std::string_view stem) {
    JsonDocument document = read_json(text);
    Problems problems = std::move(document.problems);
    ProgramResult result;
    if (document.root) {
        const JsonValue& root = *document.root;
        check_rule(program_rules(), root, "", problems);
        if (problems.empty()) {
            RegisteredProgram program = decode(root);
            check_patterns(program, root, problems);
            check_templates(program, root, problems);
            if (!stem.empty() && program.name != stem) {
                report(root, "/name", fmt::format("the file's name without .json: {}", stem), "",
                       problems);
            }
            if (problems.empty()) result.program = std::move(program);
        }
    }
    for (const JsonProblem& problem : problems) {
        result.errors.push_back({problem.pointer, problem.line, problem.column, problem.found,
                                 problem.allowed, problem.hint});
    }
    return result;
}

}  // namespace steady
