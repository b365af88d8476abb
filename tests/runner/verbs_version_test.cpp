// What `steady --version` states is what the source holds: the version stands once in
// CMakeLists.txt, CHANGELOG.md begins with it, the schema is the newest migration. And backups,
// which keep to a number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string first_match(const fs::path& file, const std::string& pattern) {
    std::ifstream in(fs::path(STEADY_SOURCE_DIR) / file);
    const std::regex wanted(pattern);
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
        if (std::regex_search(line, match, wanted)) return match[1];
    }
    return "";
}

TEST(VersionVerb, StatesWhatTheSourceHolds) {
    const SteadyCli cli;
    const nlohmann::json json = cli.run({"version", "--json"}).json();
    const std::string version = json.at("version");
    EXPECT_TRUE(std::regex_match(version, std::regex(R"re(\d+\.\d+\.\d+)re"))) << version;
    EXPECT_EQ(version, first_match("CMakeLists.txt", R"re(project\(steady VERSION ([0-9.]+))re"));
    EXPECT_EQ(version, first_match("CHANGELOG.md", R"re(^## ([0-9.]+), \d{4}-\d\d-\d\d$)re"));
    std::string newest;
    for (const auto& file :
         fs::directory_iterator(fs::path(STEADY_SOURCE_DIR) / "runner/storage/migrations")) {
        newest = std::max(newest, file.path().stem().string());
    }
    EXPECT_EQ(json.at("schema"), newest);
    EXPECT_EQ(json.at("formats"),
              nlohmann::json({"experiment v1", "steady record v1", "steady archive v1"}));
    EXPECT_NE(json.at("revision"), "");
    EXPECT_THAT(json.at("build").get<std::string>(), HasSubstr(", "));
    const CliResult flag = cli.run({"--version"});
    EXPECT_EQ(flag.code, 0);
    EXPECT_EQ(flag.out, cli.run({"version"}).out);
    EXPECT_EQ(flag.out.substr(0, flag.out.find('\n')), "steady " + version);
}

TEST(VersionVerb, WordsOfOtherProgramsNameTheVerb) {
    const SteadyCli cli;
    for (const auto& [word, verb] : {std::pair("backup", "\"db dump\""),
                                     {"restore", "`pg_restore`"},
                                     {"upgrade", "\"db migrate\""},
                                     {"dump", "\"db dump\""},
                                     {"migrate", "\"db migrate\""},
                                     {"qeue", "\"queue\""}}) {
        const CliResult result = cli.run({word});
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, HasSubstr(verb)) << word;
    }
}

TEST(DumpVerb, KeepsTheNewestOfItsOwn) {
    const SteadyCli cli;
    const fs::path folder = cli.root() / "backups";
    const CliResult first = cli.run({"db", "dump", folder.string(), "--keep", "2", "--json"});
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string kept = first.json().at("file");
    EXPECT_GT(fs::file_size(kept), 1000U);
    for (const char* old : {"steady-20200101T000000Z.dump", "steady-20200102T000000Z.dump",
                            "before-migration-20200101T000000Z.dump", "steady-notes.dump"}) {
        std::ofstream(folder / old) << "x";
    }
    fs::rename(kept, folder / "steady-20210101T000000Z.dump");
    const CliResult second = cli.run({"db", "dump", folder.string(), "--keep", "2", "--json"});
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(second.json().at("removed").size(), 2U);
    EXPECT_TRUE(fs::exists(second.json().at("file").get<std::string>()));
    EXPECT_TRUE(fs::exists(folder / "steady-20210101T000000Z.dump"));
    EXPECT_FALSE(fs::exists(folder / "steady-20200102T000000Z.dump"));
    EXPECT_TRUE(fs::exists(folder / "before-migration-20200101T000000Z.dump"));
    EXPECT_TRUE(fs::exists(folder / "steady-notes.dump"));

    const std::string file = (cli.root() / "one.dump").string();
    EXPECT_EQ(cli.run({"db", "dump", file}).code, 0);
    EXPECT_EQ(cli.run({"db", "dump", file}).code, 2);  // exists
    EXPECT_EQ(cli.run({"db", "dump", file, "--force"}).code, 0);
    const CliResult failed = cli.run({"db", "dump", (cli.root() / "none/one.dump").string()});
    EXPECT_EQ(failed.code, 1);
    EXPECT_THAT(failed.err, HasSubstr("none/one.dump failed"));
    EXPECT_THAT(failed.err, Not(HasSubstr("\\n")));

    const auto bytes = fs::file_size(file);
    fs::create_directory(file + ".part");  // where a dump is written until it is whole
    EXPECT_EQ(cli.run({"db", "dump", file, "--force"}).code, 1);
    EXPECT_EQ(fs::file_size(file), bytes) << "a failed dump took the earlier one with it";
}

}  // namespace
}  // namespace steady
