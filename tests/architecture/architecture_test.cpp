// The rules of the house, executed: who may include whom, how long a file may be, where effects may
// stand. A rule that is not run is a wish.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace steady {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = STEADY_SOURCE_DIR;

struct Source {
    std::string path;  // relative to the root
    std::vector<std::string> lines;
};

std::vector<Source> sources(const std::vector<std::string>& folders,
                            const std::set<std::string>& extensions) {
    std::vector<Source> found;
    for (const std::string& folder : folders) {
        if (!fs::exists(kRoot / folder)) continue;
        for (auto it = fs::recursive_directory_iterator(kRoot / folder);
             it != fs::recursive_directory_iterator(); ++it) {
            // Code of others, as its makers ship it.
            const std::string name = it->path().filename().string();
            if (name == "node_modules" || name == "vendor") it.disable_recursion_pending();
            if (!it->is_regular_file() || !extensions.contains(it->path().extension().string())) {
                continue;
            }
            Source source{fs::relative(it->path(), kRoot).generic_string(), {}};
            std::ifstream in(it->path());
            for (std::string line; std::getline(in, line);) source.lines.push_back(line);
            found.push_back(std::move(source));
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Source& x, const Source& y) { return x.path < y.path; });
    return found;
}

const std::vector<std::string> kCode = {"kernels", "engine", "runner", "dashboard"};

// Every folder of code, each after those that it may include: an include that points further down
// this list, and so every circle, is an error. `kernels/<op>` stands for all folders of ops.
const std::vector<std::string> kFolders = {
    "kernels/base",
    "kernels/formats",
    "kernels/simd",
    "kernels/runtime",
    "kernels/registry",
    "kernels/cases",
    "kernels/matrix",
    "kernels/layouts",
    "kernels/cuda",
    "kernels/<op>",
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
    "dashboard/server",
    "runner/cli",
    "runner",
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
        {"runner", {"kernels/base", "engine/protocol", "dashboard/server"}},
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

TEST(Architecture, IncludesFollowTheOrderOfFolders) {
    const std::regex include(R"re(^\s*#include "([^"]+)")re");
    int seen = 0;
    for (const Source& source : sources(kCode, {".cpp", ".h", ".cu"})) {
        for (const std::string& line : source.lines) {
            std::smatch match;
            if (!std::regex_search(line, match, include)) continue;
            const std::string target = match[1];
            EXPECT_TRUE(fs::exists(kRoot / target))
                << source.path << " includes \"" << target
                << "\"; write includes from the repository root";
            ++seen;
            EXPECT_EQ(include_error(source.path, target), "") << source.path << ": " << target;
        }
    }
    EXPECT_GT(seen, 20) << "the test read no includes: it would never fail";
}

// The rules above refuse what they are there to refuse.
TEST(Architecture, WrongIncludesAreRefused) {
    EXPECT_EQ(include_error("runner/judge/analysis.cpp", "runner/plan/plan.h"), "");
    EXPECT_NE(include_error("runner/plan/plan.cpp", "runner/judge/analysis.h"), "");
    EXPECT_NE(include_error("runner/queue/worker.cpp", "engine/model/arm.h"), "");
    EXPECT_NE(include_error("engine/run/duet.cpp", "runner/base/text.h"), "");
    EXPECT_NE(include_error("kernels/rope/avx2.cpp", "engine/protocol/session.h"), "");
    EXPECT_NE(include_error("runner/newroom/x.cpp", "runner/base/text.h"), "");
}

TEST(Architecture, FoldersAreSmall) {
    std::map<std::string, int> files;
    for (const Source& source : sources(kCode, {".cpp", ".h", ".cu", ".js"})) {
        ++files[source.path.substr(0, source.path.find_last_of('/'))];
    }
    for (const auto& [folder, n] : files) EXPECT_LE(n, 60) << folder;
}

TEST(Architecture, FilesAndLinesAreShort) {
    for (const Source& source : sources({"kernels", "engine", "runner", "dashboard", "tests"},
                                        {".cpp", ".h", ".cu", ".js"})) {
        EXPECT_LE(source.lines.size(), 500u) << source.path << " has more than 500 lines";
        for (size_t i = 0; i < source.lines.size(); ++i) {
            // A raw string (a regular expression, a JSON document) cannot be broken; the rest can.
            if (source.lines[i].find("R\"") != std::string::npos) continue;
            EXPECT_LE(source.lines[i].size(), 160u) << source.path << ":" << i + 1;
        }
    }
}

TEST(Architecture, FilesSayWhy) {
    for (const Source& source : sources(kCode, {".cpp", ".h", ".cu", ".js"})) {
        ASSERT_FALSE(source.lines.empty()) << source.path;
        EXPECT_TRUE(source.lines[0].rfind("//", 0) == 0)
            << source.path << " must open with a comment on its purpose";
    }
}

// Effects stand in platform, programs, storage and queue: the pure folders know no clock, process,
// socket, file or database.
TEST(Architecture, PureFoldersHaveNoEffects) {
    const std::regex effect(
        R"re(#include <(pqxx/|sys/|unistd|fcntl|signal|boost/(asio|beast)|fstream|filesystem|chrono|thread))re");
    const std::vector<std::string> pure = {"runner/base",  "runner/figures",    "runner/adapters",
                                           "runner/spec",  "runner/statistics", "runner/plan",
                                           "runner/judge", "runner/record",     "runner/entry",
                                           "runner/track", "runner/run"};
    for (const Source& source : sources(pure, {".cpp", ".h"})) {
        for (const std::string& line : source.lines) {
            EXPECT_FALSE(std::regex_search(line, effect)) << source.path << ": " << line;
        }
    }
}

TEST(Architecture, NoShellAndSqlOnlyInStorage) {
    const std::regex shell(R"re(\b(system|popen)\()re");
    const std::regex sql(R"re("(?:select|insert into|update|delete from) [a-z_]+)re");
    for (const Source& source : sources(kCode, {".cpp", ".h", ".cu"})) {
        for (const std::string& line : source.lines) {
            EXPECT_FALSE(std::regex_search(line, shell)) << source.path << ": " << line;
            // The fault harness looks at the tables from outside, as an auditor would.
            if (source.path.rfind("runner/storage/", 0) == 0) continue;
            if (source.path.rfind("runner/fault/", 0) == 0) continue;
            EXPECT_FALSE(std::regex_search(line, sql)) << source.path << ": " << line;
        }
    }
}

TEST(Architecture, NoThreadsInKernelsAndNoIsaFlagsInCMake) {
    for (const Source& source : sources({"kernels"}, {".cpp", ".h"})) {
        if (source.path.rfind("kernels/tool/", 0) == 0) continue;
        for (const std::string& line : source.lines) {
            EXPECT_EQ(line.find("#include <thread>"), std::string::npos) << source.path;
        }
    }
    for (const Source& source : sources({"kernels", "engine"}, {".txt"})) {
        for (const std::string& line : source.lines) {
            EXPECT_EQ(line.find("-mavx"), std::string::npos) << source.path;
            EXPECT_EQ(line.find("-march=native"), std::string::npos) << source.path;
        }
    }
}

TEST(Architecture, BeastStandsInOneTranslationUnit) {
    std::vector<std::string> users;
    for (const Source& source : sources(kCode, {".cpp", ".h", ".cu"})) {
        for (const std::string& line : source.lines) {
            if (line.find("#include <boost/beast") != std::string::npos) {
                users.push_back(source.path);
                break;
            }
        }
    }
    EXPECT_LE(users.size(), 1u) << "Boost.Beast in " << users.size() << " files";
}

TEST(Architecture, ThePageNeverWritesHtmlFromText) {
    const std::regex unsafe(
        R"re(innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\()re");
    for (const Source& source : sources({"dashboard/web"}, {".js", ".html"})) {
        for (const std::string& line : source.lines) {
            EXPECT_FALSE(std::regex_search(line, unsafe)) << source.path << ": " << line;
        }
    }
}

TEST(Architecture, TopLevelFoldersAreFixed) {
    const std::set<std::string> allowed = {"runner", "engine",    "kernels", "experiments",
                                           "bundle", "dashboard", "tests",   "journal",
                                           "build",  ".git",      ".ci",     ".steady"};
    for (const auto& entry : fs::directory_iterator(kRoot)) {
        if (!entry.is_directory()) continue;
        EXPECT_TRUE(allowed.contains(entry.path().filename().string())) << entry.path();
    }
}

// Every default is backed by an entry that exists.
TEST(Architecture, ChampionsCiteJournalEntriesThatExist) {
    const std::regex cited(R"re(journal/[A-Za-z0-9._-]+\.md)re");
    for (const Source& source : sources({"engine"}, {".cpp"})) {
        if (source.path != "engine/exec/champions.cpp") continue;
        for (const std::string& line : source.lines) {
            for (std::sregex_iterator it(line.begin(), line.end(), cited), end; it != end; ++it) {
                EXPECT_TRUE(fs::exists(kRoot / it->str())) << source.path << " cites " << it->str();
            }
        }
    }
}

// A command that the product tells its user to type must be one that it takes.
TEST(Architecture, HintsNameVerbsAndOptionsThatExist) {
    std::string table;
    for (const Source& source : sources({"runner/cli"}, {".cpp"})) {
        if (source.path != "runner/cli/verbs.cpp" && source.path != "runner/cli/command_line.cpp") {
            continue;
        }
        for (const std::string& line : source.lines) table += line + "\n";
    }
    table = std::regex_replace(table, std::regex(R"re(Verb\{\s+)re"), "Verb{");
    const std::regex hint(R"re(steady ([a-z]+(?:-[a-z]+)?) (?:\{\d?\}|--([a-z-]+)))re");
    int n_hints = 0;
    for (const Source& source : sources({"runner", "dashboard/server"}, {".cpp"})) {
        for (const std::string& line : source.lines) {
            for (std::sregex_iterator it(line.begin(), line.end(), hint), end; it != end; ++it) {
                ++n_hints;
                const std::string verb = (*it)[1], option = (*it)[2];
                if (verb == "help") continue;  // the table's own
                EXPECT_NE(table.find("Verb{\"" + verb + "\""), std::string::npos)
                    << source.path << " names no verb: " << line;
                if (option.empty()) continue;
                EXPECT_NE(table.find("{\"" + option + "\""), std::string::npos)
                    << source.path << " names no option: " << line;
            }
        }
    }
    EXPECT_GT(n_hints, 15);
}

}  // namespace
}  // namespace steady
