// The rules of the source tree, as tests: who may include whom, how long a file may be, where
// effects may stand. A rule is a function from sources to what is wrong with them. It runs over the
// tree, and over a small source that breaks it, so that each rule has been seen failing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/sources.h"

namespace steady {
namespace {

const std::vector<std::string> kCode = {"kernels", "engine", "runner", "dashboard"};

// Every folder of code, each after those that it may include: an include that points further down
// this list, and so every circle, is an error. `kernels/<op>` stands for all folders of ops.
const std::vector<std::string> kFolders = {
    "kernels/base",
    "kernels/formats",
    "kernels/simd",
    "kernels/runtime",
    "kernels/registry",
    "kernels/threads",
    "kernels/cases",
    "kernels/matrix",
    "kernels/layouts",
    "kernels/attention",
    "kernels/cuda",
    "kernels/generated",
    "kernels/<op>",
    "kernels/persistent",
    "kernels/tool",
    "engine/protocol",
    "engine/gguf",
    "engine/text",
    "engine/synth",
    "engine/exec",
    "engine/model",
    "engine/model/steps",
    "engine/run",
    "engine/verbs",
    "engine",
    "runner/base",
    "runner/figures",
    "runner/adapters",
    "runner/spec",
    "runner/statistics",
    "runner/statistics/check",
    "runner/plan",
    "runner/judge",
    "runner/record",
    "runner/entry",
    "runner/track",
    "runner/launch",
    "runner/platform",
    "runner/programs/confine",
    "runner/programs/build",
    "runner/programs/registry",
    "runner/run",
    "runner/programs/lockstep",
    "runner/programs/command",
    "runner/programs/steady_engine",
    "runner/storage",
    "runner/queue",
    "runner/fault",
    "runner/cli",
    "runner",
    "dashboard/server",
    "dashboard",
};

std::string folder_of(const std::string& path) {
    std::string folder = path.substr(0, path.find_last_of('/'));
    const bool listed = std::find(kFolders.begin(), kFolders.end(), folder) != kFolders.end();
    if (!listed && fs::exists(kRoot / folder / "op.h")) return "kernels/<op>";
    return folder;
}

// Place in the list; past its end when it does not stand there.
std::size_t rank_of(const std::string& folder) {
    const auto found = std::find(kFolders.begin(), kFolders.end(), folder);
    return static_cast<std::size_t>(found - kFolders.begin());
}

// What a part of the product may use of the others, beside the order above: the runner starts the
// engine as a process and shares no more with it than the words that they exchange.
bool may_use(const std::string& from, const std::string& to) {
    static const std::map<std::string, std::set<std::string>> others = {
        {"kernels", {}},
        {"engine", {"kernels"}},
        {"runner", {"kernels/base", "engine/protocol"}},
        {"dashboard", {"kernels/base", "engine/protocol", "runner"}},
    };
    const std::string part = from.substr(0, from.find('/'));
    if (to == part || to.rfind(part + "/", 0) == 0) return true;
    const std::set<std::string>& allowed = others.at(part);
    return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& prefix) {
        return to == prefix || to.rfind(prefix + "/", 0) == 0;
    });
}

// Why an include may not stand; empty when it may.
std::string include_error(const std::string& source, const std::string& target) {
    const std::string from = folder_of(source), to = folder_of(target);
    for (const std::string& folder : {from, to}) {
        if (rank_of(folder) == kFolders.size()) return "folder " + folder + " is not in kFolders";
    }
    if (rank_of(to) > rank_of(from)) return to + " stands after " + from + " in kFolders";
    if (!may_use(from, to)) return from + " may not use " + to;
    return {};
}

using Mistakes = std::vector<std::string>;

// Adds a mistake for each line of which `wrong` says so.
void find_lines(const Source& source, const std::function<bool(const std::string&)>& wrong,
                Mistakes& out) {
    for (const std::string& line : source.lines) {
        if (wrong(line)) out.push_back(source.path + ": " + line);
    }
}

bool is_below(const Source& source, const std::vector<std::string>& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
        return source.path.rfind(folder + "/", 0) == 0;
    });
}

Mistakes wrong_includes(const std::vector<Source>& files) {
    static const std::regex include(R"re(^\s*#include "([^"]+)")re");
    Mistakes out;
    for (const Source& source : files) {
        for (const std::string& line : source.lines) {
            std::smatch match;
            if (!std::regex_search(line, match, include)) continue;
            const std::string target = match[1];
            if (!fs::exists(kRoot / target)) {
                out.push_back(source.path + ": write from the repository's root: " + target);
            } else if (const std::string why = include_error(source.path, target); !why.empty()) {
                out.push_back(source.path + ": " + target + ": " + why);
            }
        }
    }
    return out;
}

Mistakes large_folders(const std::vector<Source>& files) {
    std::map<std::string, int> n_files;
    for (const Source& source : files) {
        ++n_files[source.path.substr(0, source.path.find_last_of('/'))];
    }
    Mistakes out;
    for (const auto& [folder, n] : n_files) {
        if (n > 60) out.push_back(folder + " holds more than 60 files");
    }
    return out;
}

Mistakes long_files(const std::vector<Source>& files) {
    Mistakes out;
    for (const Source& source : files) {
        if (source.lines.size() > 500) out.push_back(source.path + " has more than 500 lines");
        // A raw string (a regular expression, a JSON document) cannot be broken; the rest can.
        find_lines(
            source,
            [](const std::string& line) {
                return line.size() > 160 && line.find("R\"") == std::string::npos;
            },
            out);
    }
    return out;
}

Mistakes without_purpose(const std::vector<Source>& files) {
    Mistakes out;
    for (const Source& source : files) {
        if (source.lines.empty() || source.lines[0].rfind("//", 0) != 0) {
            out.push_back(source.path + " must open with a comment on its purpose");
        }
    }
    return out;
}

// Effects stand in platform, programs, storage and queue: the pure folders know no clock, process,
// socket, file or database.
Mistakes effects_in_pure_folders(const std::vector<Source>& files) {
    static const std::regex effect(
        R"re(#include <(pqxx/|sys/|unistd|fcntl|signal|boost/(asio|beast)|fstream|filesystem|chrono|thread))re");
    Mistakes out;
    for (const Source& source : files) {
        if (!is_below(source, {"runner/base", "runner/figures", "runner/adapters", "runner/spec",
                               "runner/statistics", "runner/plan", "runner/judge", "runner/record",
                               "runner/entry", "runner/track", "runner/run"})) {
            continue;
        }
        find_lines(
            source, [](const std::string& line) { return std::regex_search(line, effect); }, out);
    }
    return out;
}

Mistakes lines_like(const std::vector<Source>& files, const std::regex& pattern) {
    Mistakes out;
    for (const Source& source : files) {
        find_lines(
            source, [&](const std::string& line) { return std::regex_search(line, pattern); }, out);
    }
    return out;
}

Mistakes shells(const std::vector<Source>& files) {
    return lines_like(files, std::regex(R"re(\b(system|popen)\()re"));
}

// The fault harness looks at the tables from outside, as an auditor would.
Mistakes sql_outside_storage(const std::vector<Source>& files) {
    static const std::regex sql(R"re("(?:select|insert into|update|delete from) [a-z_]+)re");
    Mistakes out;
    for (const Source& source : files) {
        if (is_below(source, {"runner/storage", "runner/fault"})) continue;
        find_lines(
            source, [](const std::string& line) { return std::regex_search(line, sql); }, out);
    }
    return out;
}

Mistakes threads_in_kernels(const std::vector<Source>& files) {
    Mistakes out;
    for (const Source& source : files) {
        if (!is_below(source, {"kernels"}) || is_below(source, {"kernels/tool", "kernels/threads"}))
            continue;
        find_lines(
            source,
            [](const std::string& line) {
                return line.find("#include <thread>") != std::string::npos;
            },
            out);
    }
    return out;
}

// Of CMake files.
Mistakes isa_flags(const std::vector<Source>& files) {
    return lines_like(files, std::regex("-mavx|-march=native"));
}

// Users of a library that stands in one file: Beast takes long to compile, and libpqxx is read as
// its library was compiled, which differs between distributions.
Mistakes more_than_one_user(const std::vector<Source>& files, const std::string& library) {
    Mistakes users;
    for (const Source& source : files) {
        if (!lines_like({source}, std::regex("#include <" + library)).empty())
            users.push_back(source.path);
    }
    return users.size() > 1 ? users : Mistakes{};
}

Mistakes more_than_one_beast(const std::vector<Source>& files) {
    return more_than_one_user(files, "boost/beast");
}

Mistakes more_than_one_pqxx(const std::vector<Source>& files) {
    return more_than_one_user(files, "pqxx/");
}

Mistakes html_from_text(const std::vector<Source>& files) {
    return lines_like(
        files,
        std::regex(R"re(innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\()re"));
}

Mistakes unknown_top_folders(const std::vector<std::string>& folders) {
    static const std::set<std::string> allowed = {"runner", "engine",    "kernels", "experiments",
                                                  "bundle", "dashboard", "tests",   "journal",
                                                  "build",  ".git",      ".ci",     ".steady"};
    Mistakes out;
    for (const std::string& folder : folders) {
        if (!allowed.contains(folder)) out.push_back(folder);
    }
    return out;
}

// Every default is backed by an entry that exists.
Mistakes missing_entries(const std::vector<Source>& files) {
    static const std::regex cited(R"re(journal/[A-Za-z0-9._-]+\.md)re");
    Mistakes out;
    for (const Source& source : files) {
        if (source.path != "engine/exec/champions.cpp") continue;
        find_lines(
            source,
            [](const std::string& line) {
                std::smatch match;
                return std::regex_search(line, match, cited) && !fs::exists(kRoot / match.str());
            },
            out);
    }
    return out;
}

// The table of verbs, on one line each as the rule below searches them.
std::string verb_table() {
    std::string table;
    for (const Source& source : sources({"runner/cli"}, {".cpp"})) {
        if (source.path == "runner/cli/verbs.cpp" || source.path == "runner/cli/command_line.cpp" ||
            source.path == "runner/cli/question_options.cpp") {
            for (const std::string& line : source.lines) table += line + "\n";
        }
    }
    return std::regex_replace(table, std::regex(R"re(Verb\{\s+)re"), "Verb{");
}

// A command that the product tells its user to type must be one that it takes.
Mistakes unknown_hints(const std::vector<Source>& files) {
    static const std::string table = verb_table();
    static const std::regex hint(R"re(steady ([a-z]+(?:-[a-z]+)?) (?:\{\d?\}|--([a-z-]+)))re");
    Mistakes out;
    for (const Source& source : files) {
        for (const std::string& line : source.lines) {
            for (std::sregex_iterator it(line.begin(), line.end(), hint), end; it != end; ++it) {
                const std::string verb = (*it)[1], option = (*it)[2];
                if (verb == "help") continue;  // the table's own
                const bool known = table.find("Verb{\"" + verb + "\"") != std::string::npos;
                const bool takes =
                    option.empty() || table.find("{\"" + option + "\"") != std::string::npos;
                if (!known || !takes) out.push_back(source.path + ": " + it->str());
            }
        }
    }
    return out;
}

// ctest runs the tests of one program beside each other, so no two may write the same file.
Mistakes shared_files(const std::vector<Source>& files) {
    static const std::regex fixed(R"re((TempDir|temp_directory_path)\(\) [+/] "[^"]*";)re");
    Mistakes out;
    for (const Source& source : files) {
        find_lines(
            source, [](const std::string& line) { return std::regex_search(line, fixed); }, out);
    }
    return out;
}

struct Rule {
    const char* name;
    std::function<Mistakes(const std::vector<Source>&)> mistakes;
    std::vector<std::string> folders;
    std::set<std::string> extensions;
    std::vector<Source> breaks_it;
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

const std::set<std::string> kCpp = {".cpp", ".h", ".cu"};
const std::set<std::string> kCppAndJs = {".cpp", ".h", ".cu", ".js"};

std::vector<Source> many_files() {
    std::vector<Source> files;
    for (int i = 0; i < 61; ++i) files.push_back({"runner/x/" + std::to_string(i) + ".cpp", {}});
    return files;
}

std::vector<Rule> rules() {
    std::vector<std::string> code_and_tests = kCode;
    code_and_tests.push_back("tests");
    const std::string beast = "#include <boost/beast/http.hpp>";
    return {
        {"IncludesFollowTheOrderOfFolders",
         wrong_includes,
         kCode,
         kCpp,
         {{"runner/plan/plan.cpp", {"#include \"runner/judge/analysis.h\""}}}},
        {"FoldersAreSmall", large_folders, kCode, kCppAndJs, many_files()},
        {"FilesAreShort",
         long_files,
         code_and_tests,
         kCppAndJs,
         {{"runner/x.cpp", std::vector<std::string>(501, "x")}}},
        {"LinesAreShort",
         long_files,
         code_and_tests,
         kCppAndJs,
         {{"runner/x.cpp", {std::string(161, 'x')}}}},
        {"FilesSayWhy", without_purpose, kCode, kCppAndJs, {{"runner/x.cpp", {"#pragma once"}}}},
        {"PureFoldersHaveNoEffects",
         effects_in_pure_folders,
         {"runner"},
         kCpp,
         {{"runner/judge/x.cpp", {"#include <chrono>"}}}},
        {"NoShell", shells, kCode, kCpp, {{"engine/x.cpp", {"    system(\"ls\");"}}}},
        {"SqlOnlyInStorage",
         sql_outside_storage,
         kCode,
         kCpp,
         {{"runner/cli/x.cpp", {"run(\"select id from jobs\")"}}}},
        {"NoThreadsInKernels",
         threads_in_kernels,
         {"kernels"},
         kCpp,
         {{"kernels/add/x.cpp", {"#include <thread>"}}}},
        {"NoIsaFlagsInCMake",
         isa_flags,
         kCode,
         {".txt"},
         {{"kernels/CMakeLists.txt", {"add_compile_options(-march=native)"}}}},
        {"BeastStandsInOneTranslationUnit",
         more_than_one_beast,
         kCode,
         kCpp,
         {{"dashboard/a.cpp", {beast}}, {"dashboard/b.cpp", {beast}}}},
        {"LibpqxxStandsInOneHeader",
         more_than_one_pqxx,
         kCode,
         kCpp,
         {{"runner/a.h", {"#include <pqxx/pqxx>"}}, {"runner/b.cpp", {"#include <pqxx/row>"}}}},
        {"ThePageNeverWritesHtmlFromText",
         html_from_text,
         {"dashboard/web"},
         {".js", ".html"},
         {{"dashboard/web/x.js", {"node.innerHTML = text;"}}}},
        {"ChampionsCiteEntriesThatExist",
         missing_entries,
         {"engine"},
         {".cpp"},
         {{"engine/exec/champions.cpp", {"// journal/2026-01-01-none.md"}}}},
        {"TemporaryFilesHaveNamesOfTheirOwn",
         shared_files,
         {"tests"},
         kCpp,
         {{"tests/x.cpp", {"path = testing::TempDir() + \"x.json\";"}}}},
        {"HintsNameVerbsAndOptionsThatExist",
         unknown_hints,
         {"runner", "dashboard/server"},
         {".cpp"},
         {{"runner/x.cpp", {"\"steady run --fastest\""}}}},
    };
}

class Architecture : public testing::TestWithParam<Rule> {};

TEST_P(Architecture, HoldsInTheTree) {
    const std::vector<Source> files = sources(GetParam().folders, GetParam().extensions);
    EXPECT_GE(files.size(), 4U) << "the rule reads no files: it would never fail";
    for (const std::string& mistake : GetParam().mistakes(files)) ADD_FAILURE() << mistake;
}

TEST_P(Architecture, RefusesWhatBreaksIt) {
    EXPECT_NE(GetParam().mistakes(GetParam().breaks_it), Mistakes{});
}

INSTANTIATE_TEST_SUITE_P(Rules, Architecture, testing::ValuesIn(rules()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(ArchitectureTree, TopLevelFoldersAreFixed) {
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(kRoot)) {
        if (entry.is_directory()) folders.push_back(entry.path().filename().string());
    }
    EXPECT_EQ(unknown_top_folders(folders), Mistakes{});
    EXPECT_EQ(unknown_top_folders({"kernels", "misc"}), Mistakes{"misc"});
}

// The directions of includes refuse what they are there to refuse.
TEST(ArchitectureTree, WrongIncludesAreRefused) {
    EXPECT_EQ(include_error("runner/judge/analysis.cpp", "runner/plan/plan.h"), "");
    EXPECT_NE(include_error("runner/plan/plan.cpp", "runner/judge/analysis.h"), "");
    EXPECT_NE(include_error("runner/queue/worker.cpp", "engine/model/arm.h"), "");
    EXPECT_NE(include_error("engine/run/duet.cpp", "runner/base/text.h"), "");
    EXPECT_NE(include_error("kernels/rope/avx2.cpp", "engine/protocol/session.h"), "");
    EXPECT_NE(include_error("runner/cli/verbs_data.cpp", "dashboard/server/serve.h"), "");
    EXPECT_NE(include_error("runner/newroom/x.cpp", "runner/base/text.h"), "");
    EXPECT_NE(wrong_includes({{"runner/base/x.cpp", {"#include \"text.h\""}}}), Mistakes{});
}

}  // namespace
}  // namespace steady
