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

// The box of a path: the longest prefix in the table below.
std::string box_of(const std::string& path) {
    static const std::vector<std::pair<std::string, std::string>> prefixes = {
        {"kernels/tool/", "kernels_tool"},       {"kernels/", "kernels"},
        {"engine/protocol/", "engine_protocol"}, {"engine/", "engine_core"},
        {"runner/pipeline/", "runner_pipeline"}, {"runner/figures/", "runner_figures"},
        {"runner/edges/", "runner_edges"},       {"runner/storage/", "runner_storage"},
        {"runner/queue/", "runner_queue"},       {"runner/", "runner_cli"},
        {"dashboard/", "dashboard_server"}};
    for (const auto& [prefix, box] : prefixes) {
        if (path.rfind(prefix, 0) == 0) return box;
    }
    return {};
}

const std::map<std::string, std::set<std::string>>& may_include() {
    static const std::map<std::string, std::set<std::string>> table = {
        {"kernels", {}},
        {"kernels_tool", {"kernels", "engine_protocol"}},
        {"engine_protocol", {}},
        {"engine_core", {"kernels", "engine_protocol"}},
        {"runner_figures", {}},
        {"runner_pipeline", {"engine_protocol", "runner_figures"}},
        {"runner_edges", {"runner_pipeline", "engine_protocol"}},
        {"runner_storage", {"runner_pipeline", "runner_edges", "engine_protocol"}},
        {"runner_queue", {"runner_pipeline", "runner_edges", "runner_storage", "engine_protocol"}},
        {"dashboard_server",
         {"runner_pipeline", "runner_figures", "runner_storage", "runner_queue", "runner_edges",
          "engine_protocol"}},
        {"runner_cli",
         {"runner_pipeline", "runner_figures", "runner_edges", "runner_storage", "runner_queue",
          "dashboard_server", "engine_protocol"}}};
    return table;
}

TEST(Architecture, IncludesFollowTheTable) {
    const std::regex include(R"re(^\s*#include "([^"]+)")re");
    int seen = 0;
    for (const Source& source : sources(kCode, {".cpp", ".h"})) {
        const std::string from = box_of(source.path);
        for (const std::string& line : source.lines) {
            std::smatch match;
            if (!std::regex_search(line, match, include)) continue;
            const std::string target = match[1];
            EXPECT_TRUE(fs::exists(kRoot / target))
                << source.path << " includes \"" << target
                << "\"; write includes from the repository root";
            const std::string to = box_of(target);
            ++seen;
            EXPECT_TRUE(to == from || may_include().at(from).contains(to))
                << source.path << " (" << from << ") may not include " << target << " (" << to
                << ")";
        }
    }
    EXPECT_GT(seen, 20) << "the test read no includes: it would never fail";
}

TEST(Architecture, FilesAndLinesAreShort) {
    for (const Source& source :
         sources({"kernels", "engine", "runner", "dashboard", "tests"}, {".cpp", ".h", ".js"})) {
        EXPECT_LE(source.lines.size(), 500u) << source.path << " has more than 500 lines";
        for (size_t i = 0; i < source.lines.size(); ++i) {
            // A raw string (a regular expression, a JSON document) cannot be broken; the rest can.
            if (source.lines[i].find("R\"") != std::string::npos) continue;
            EXPECT_LE(source.lines[i].size(), 160u) << source.path << ":" << i + 1;
        }
    }
}

TEST(Architecture, FilesSayWhy) {
    for (const Source& source : sources(kCode, {".cpp", ".h", ".js"})) {
        ASSERT_FALSE(source.lines.empty()) << source.path;
        EXPECT_TRUE(source.lines[0].rfind("//", 0) == 0)
            << source.path << " must open with a comment on its purpose";
    }
}

// Effects stand at the edges: the pure boxes know no clock, process, socket, file or database.
TEST(Architecture, PureBoxesHaveNoEffects) {
    const std::regex effect(
        R"re(#include <(pqxx/|sys/|unistd|fcntl|signal|boost/(asio|beast)|fstream|filesystem|chrono|thread))re");
    for (const Source& source : sources({"runner/pipeline", "runner/figures"}, {".cpp", ".h"})) {
        for (const std::string& line : source.lines) {
            EXPECT_FALSE(std::regex_search(line, effect)) << source.path << ": " << line;
        }
    }
}

TEST(Architecture, NoShellAndSqlOnlyInStorage) {
    const std::regex shell(R"re(\b(system|popen)\()re");
    const std::regex sql(R"re("(?:select|insert into|update|delete from) [a-z_]+)re");
    for (const Source& source : sources(kCode, {".cpp", ".h"})) {
        for (const std::string& line : source.lines) {
            EXPECT_FALSE(std::regex_search(line, shell)) << source.path << ": " << line;
            // The fault harness looks at the tables from outside, as an auditor would.
            if (box_of(source.path) == "runner_storage") continue;
            if (source.path.rfind("runner/queue/fault_", 0) == 0) continue;
            EXPECT_FALSE(std::regex_search(line, sql)) << source.path << ": " << line;
        }
    }
}

TEST(Architecture, NoThreadsInKernelsAndNoIsaFlagsInCMake) {
    for (const Source& source : sources({"kernels"}, {".cpp", ".h"})) {
        if (box_of(source.path) == "kernels_tool") continue;
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
    for (const Source& source : sources(kCode, {".cpp", ".h"})) {
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
    const std::set<std::string> allowed = {"runner",    "engine", "kernels", "experiments",
                                           "dashboard", "tests",  "journal", "build",
                                           ".git",      ".ci",    ".steady"};
    for (const auto& entry : fs::directory_iterator(kRoot)) {
        if (!entry.is_directory()) continue;
        EXPECT_TRUE(allowed.contains(entry.path().filename().string())) << entry.path();
    }
}

// Every default is backed by an entry that exists.
TEST(Architecture, ChampionsCiteJournalEntriesThatExist) {
    const std::regex cited(R"re(journal/[A-Za-z0-9._-]+\.md)re");
    for (const Source& source : sources({"engine"}, {".cpp"})) {
        if (source.path != "engine/champions.cpp") continue;
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
