// `steady bisect`: the commit that changed a metric, searched here and now.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/commit_search.h"
#include "runner/cli/jobs.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

// FILE, or the file that the options and the command after -- describe.
std::string question_file(const Arguments& arguments) {
    const std::size_t own = arguments.words.size() - arguments.rest.size();
    if (own == 3 && arguments.rest.empty()) {
        for (const Option& option : question_options()) {
            const std::string name(option.name);
            if (!arguments.has(name) && !arguments.lists.contains(name)) continue;
            throw Error(
                fmt::format("--{} stands for a field of FILE: change the file, or give a "
                            "command after -- instead of it",
                            name));
        }
        return arguments.words[2];
    }
    if (own != 2 || arguments.rest.empty()) {
        throw Error(
            "usage: steady bisect GOOD BAD FILE, or steady bisect GOOD BAD [--build 'COMMAND'] -- "
            "COMMAND [ARGUMENT…]. `steady help bisect` says more");
    }
    Arguments question = arguments;
    question.lists["rev"] = {arguments.words[0], arguments.words[1]};
    question.words = arguments.rest;
    return write_question(question);
}

}  // namespace

int verb_bisect(const Arguments& arguments) {
    const std::string file = question_file(arguments);
    const Spec spec = load_spec(file);
    check_revision_question(spec);
    interrupt_signal();
    Arguments steps = arguments;
    steps.options["no-journal"] = "1";
    SearchInput input{.spec = &spec,
                      .file = file,
                      .good = arguments.words[0],
                      .bad = arguments.words[1],
                      .ancestry_path = arguments.has("ancestry-path"),
                      .attempt = arguments.number("attempt", 1, 1, 1000000),
                      .run_step = {},
                      .say = {}};
    input.run_step = [&](const Spec& step) {
        return run_here(step, steps, nullptr, nullptr, IfDecided::keep);
    };
    if (!arguments.has("quiet")) {
        input.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    }
    const bisect::Found found = search_commits(input);
    nlohmann::json json = bisect::json(found);
    std::string text = bisect::text(found);
    json["journal"] = nullptr;
    if (!arguments.has("no-journal")) {
        const std::string entry = write_found(found);
        json["journal"] = entry;
        text += "\nEntry: " + entry;
    }
    print(arguments, json, text);
    return bisect::exit_code(found);
}

}  // namespace steady
