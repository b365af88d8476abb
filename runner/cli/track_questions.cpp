// The suite of a tracked repository: named files, the files in its folder steady/, a command after
// --, or what its registration allows.
#include "runner/cli/track_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/programs/registry/registry.h"
#include "runner/spec/spec_command.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> json_files(const std::string& folder) {
    std::vector<std::string> files;
    if (!fs::is_directory(folder)) return files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// Written like the question of `ab`; both revisions are placeholders.
std::string command_question(const Arguments& arguments, const std::vector<std::string>& command,
                             const std::string& branch) {
    Arguments question = arguments;
    question.options["repo"] = arguments.get("repo");
    question.options.erase("budget");  // of the whole call, not of the file
    question.lists["rev"] = {branch + "~1", branch};
    question.words = question.rest = command;
    return write_question(question);
}

std::vector<std::string> registered_questions(const Arguments& arguments,
                                              const std::string& branch) {
    std::vector<std::string> files;
    for (const RegisteredProgram& program :
         load_programs(arguments.get("programs", programs_folder()))) {
        if (program.name != arguments.get("repo")) continue;
        Arguments registered = arguments;
        if (!registered.lists.contains("build")) {
            for (const auto& words : program.build) {
                registered.lists["build"].push_back(joined_words(words));
            }
        }
        const bool process =
            program.adapters.empty() ||
            std::count(program.adapters.begin(), program.adapters.end(), "process") > 0;
        if (!process && !registered.has("adapter")) {
            registered.options["adapter"] = program.adapters.front();
        }
        for (const auto& command : example_commands(program)) {
            files.push_back(command_question(registered, command, branch));
        }
    }
    return files;
}

std::vector<std::string> question_files(const Arguments& arguments, const std::string& root,
                                        const std::string& branch) {
    if (!arguments.rest.empty()) return {command_question(arguments, arguments.rest, branch)};
    const auto named = arguments.lists.find("question");
    if (named != arguments.lists.end()) return named->second;
    if (arguments.has("suite")) {
        const std::vector<std::string> files = json_files(arguments.get("suite"));
        if (!files.empty()) return files;
        throw Error(fmt::format("--suite: {} holds no *.json", arguments.get("suite")));
    }
    std::vector<std::string> files = json_files(root + "/steady");
    if (files.empty()) files = registered_questions(arguments, branch);
    if (!files.empty()) return files;
    throw Error(fmt::format(
        "no question about {0}: no *.json in {1}/steady/, and no program of that name is "
        "registered. Name files with --question FILE or --suite DIR, or give a command: steady "
        "track --repo {0} --build 'COMMAND' -- COMMAND",
        arguments.get("repo"), root));
}

}  // namespace

std::vector<Spec> track_questions(const Arguments& arguments, const std::string& root,
                                  const std::string& branch) {
    std::vector<Spec> specs;
    std::set<std::string> ids;
    for (const std::string& file : question_files(arguments, root, branch)) {
        Spec spec = load_spec(file);
        if (is_outside(spec) && spec.subject.repo.empty()) {
            throw Error(fmt::format("{}: found no \"repo\" in subject, allowed: \"{}\"", file,
                                    arguments.get("repo")));
        }
        check_revision_question(spec);
        nlohmann::json document = nlohmann::json::parse(spec.canonical);
        document["subject"]["repo"] = arguments.get("repo");
        if (arguments.has("pairs")) {
            document["schedule"]["pairs"]["max"] = arguments.number("pairs", 10, 10, 1000);
        }
        spec = decode_spec(document);
        if (!ids.insert(spec.id).second) {
            throw Error(fmt::format("{}: another question has the id \"{}\"", file, spec.id));
        }
        specs.push_back(std::move(spec));
    }
    return specs;
}

}  // namespace steady
