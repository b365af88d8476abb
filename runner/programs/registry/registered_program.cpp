// An argument is compared with the owner's pattern as a whole, so that a pattern which forgets its
// anchors cannot let anything else through.
#include "runner/programs/registry/registered_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "runner/base/json_reader.h"
#include "runner/base/text.h"
#include "runner/programs/registry/command_template.h"

namespace steady {
namespace {

using Words = std::vector<std::string>;

std::string listed(const Words& words) {
    return words.empty() ? "(none)" : fmt::format("{}", fmt::join(words, ", "));
}

std::string shown_command(const Words& command) {
    return shown_text(fmt::format("{}", fmt::join(command, " ")));
}

void check_repository(const RegisteredProgram& program, const AskedProgram& asked, Words& out) {
    if (!asked.repository.empty() && asked.repository != program.name &&
        asked.repository != program.repository) {
        out.push_back(fmt::format("repository: found {}, allowed: {}, the registered one",
                                  shown_text(asked.repository), program.name));
    }
    for (const AskedRevision& revision : asked.revisions) {
        if (revision.text.empty()) {
            out.emplace_back(
                "revision: found none, needed: \"rev\" in both arms, to be built from");
        } else if (revision.text == ".") {
            out.push_back(
                "revision \".\": a worker measures commits, not the files that lie there");
        } else if (!ref_allowed(program, revision.refs)) {
            out.push_back(fmt::format(
                "revision {}: in no allowed branch or tag; it is in: {}; allowed: {}",
                shown_text(revision.text), listed(revision.refs), listed(program.refs)));
        }
    }
    if (!asked.build.empty() && asked.build != program.build) {
        out.push_back("build: differs from the registered one; leave \"build\" out");
    }
}

void check_environment(const RegisteredProgram& program, const AskedProgram& asked, Words& out) {
    Words names;
    for (const auto& [name, pattern] : program.env_allowed) names.push_back(name);
    for (const auto& [name, value] : asked.env) {
        const auto allowed = program.env_allowed.find(name);
        if (allowed == program.env_allowed.end()) {
            out.push_back(fmt::format("env {}: may not be set; allowed: {}", escape_line(name),
                                      listed(names)));
        } else if (!matches_whole(allowed->second, value)) {
            out.push_back(fmt::format("env {}: found {}, allowed: text that matches {}",
                                      escape_line(name), shown_text(value), allowed->second));
        }
    }
}

void check_commands(const RegisteredProgram& program, const AskedProgram& asked, Words& out) {
    const std::set<Words> different(asked.commands.begin(), asked.commands.end());
    for (const Words& command : different) {
        Words reasons;
        bool fits = false;
        for (const Words& pattern : program.run) {
            const std::string reason = template_mismatch(pattern, program.arguments, command);
            fits = fits || reason.empty();
            reasons.push_back(
                fmt::format("{}: {}", fmt::format("{}", fmt::join(pattern, " ")), reason));
        }
        if (fits) continue;
        out.push_back(fmt::format("command {}: matches no registered one ({})",
                                  shown_command(command), fmt::join(reasons, "; ")));
    }
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
    // Where to go on when a mismatch shows that the last * must take one more character.
    std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

bool ref_allowed(const RegisteredProgram& program, const Words& refs) {
    return std::any_of(refs.begin(), refs.end(), [&](const std::string& ref) {
        return std::any_of(program.refs.begin(), program.refs.end(),
                           [&](const std::string& glob) { return matches_glob(glob, ref); });
    });
}

Words objections(const RegisteredProgram& program, const AskedProgram& asked) {
    Words out;
    if (asked.name != program.name) {
        out.push_back(
            fmt::format("program: found {}, registered: {}", shown_text(asked.name), program.name));
        return out;
    }
    check_repository(program, asked, out);
    check_commands(program, asked, out);
    check_environment(program, asked, out);
    for (const std::string& adapter : asked.adapters) {
        if (program.adapters.empty()) break;
        if (std::count(program.adapters.begin(), program.adapters.end(), adapter) > 0) continue;
        out.push_back(fmt::format("adapter: found {}, allowed: {}", shown_text(adapter),
                                  listed(program.adapters)));
    }
    return out;
}

std::vector<Words> example_commands(const RegisteredProgram& program) {
    std::vector<Words> out;
    for (const Words& pattern : program.run) {
        out.push_back(fill_template(pattern, program.arguments));
    }
    return out;
}

}  // namespace steady
