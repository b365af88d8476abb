// What is described in the schema and waits for its part of the runner, and what only runs where
// the person who asks is.
#include "runner/spec/spec_runnable.h"

namespace steady {

namespace {

// A worker knows programs by name, sees no files of the submitter, and keeps none that a confined
// run wrote.
template <class Refuse>
void refuse_for_workers(const Spec& spec, const Refuse& refuse) {
    const char* kept = "what programs print";
    const char* why = "files of a confined run are gone when it ends; compare stdout";
    if (spec.subject.name.empty()) {
        refuse("/subject", "no key \"name\"", "the name of a program that a worker registered",
               "`steady program list` shows them on its machine");
    }
    if (spec.subject.repo == ".") {
        refuse("/subject/repo", "\".\"", "a repository by name in the queue",
               "name the program alone: its worker knows the repository");
    }
    for (const auto& [name, arm] : spec.arms) {
        if (arm.rev != ".") continue;
        refuse("/arms/" + name + "/rev", "\".\"", "a branch, tag or commit in the queue",
               "a worker does not see your files; `steady run` does");
    }
    for (std::size_t i = 0; i < spec.gates.size(); ++i) {
        const std::string need = "/gates/" + std::to_string(i) + "/need";
        if (spec.gates[i].need.contains("file")) refuse(need + "/file", "a file", kept, why);
        if (!spec.gates[i].check.empty()) refuse(need + "/check", "a command", kept, why);
    }
    for (const auto& [arm, rules] : spec.applied) {
        if (!rules.contains("file_has")) continue;
        refuse("/applied/" + arm + "/file_has", "a file", kept, why);
    }
}

}  // namespace

std::vector<SpecError> not_runnable(const Spec& spec, RunPlace place) {
    std::vector<SpecError> out;
    const auto refuse = [&](const std::string& pointer, const char* found, const char* allowed,
                            const char* hint) {
        out.push_back({pointer, 1, 1, found, allowed, hint});
    };
    if (place == RunPlace::queue && spec.sweep) {
        refuse("/sweep", "a sweep, which is several experiments", "one question in the queue",
               "`steady sweep` runs it on one machine");
    }
    if (!is_outside(spec)) return out;
    if (place == RunPlace::queue) refuse_for_workers(spec, refuse);
    return out;
}

std::string why_not_runnable(const Spec& spec, RunPlace place) {
    const std::vector<SpecError> all = not_runnable(spec, place);
    if (all.empty()) return "";
    const SpecError& first = all.front();
    return spec.id + ": " + first.pointer + ": found " + first.found +
           ", which cannot be run; allowed: " + first.allowed + ". " + first.hint;
}

}  // namespace steady
