// Two revisions of a repository made here: built at one path, run, and judged.
#include <gtest/gtest.h>

#include <fstream>

#include "runner/platform/files.h"
#include "tests/support/burn_program.h"
#include "tests/support/git_fixture.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

class OutsideRevisions : public ::testing::Test {
protected:
    SteadyCli cli;
    GitFixture repository;

    // `steady` runs in its project folder; the repository is known there by its name.
    void SetUp() override {
        repository.write("burn.c", burn_source(1000));
        slow = repository.commit("As it was");
        repository.write("burn.c", burn_source(500));
        fast = repository.commit("Less to do");
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/parser");
    }

    CliResult ab(const std::string& a, const std::string& b, std::vector<std::string> more = {}) {
        std::vector<std::string> words = {"ab",     "--rev",    a,
                                          "--rev",  b,          "--repo",
                                          "parser", "--build",  "cc -O1 -o burn burn.c",
                                          "--json", "--metric", "cpu_seconds"};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {"--", "./burn", "1000"});
        return cli.run(words);
    }

    std::string slow, fast;
};

TEST_F(OutsideRevisions, TheFasterRevisionIsAccepted) {
    const CliResult done = ab(slow, fast, {"--worth", "20%"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("verdict"), "accept");
    const std::string entry =
        read_file((cli.root() / done.json().at("journal").get<std::string>()).string());
    EXPECT_NE(entry.find(fast), std::string::npos) << "the commit";
    EXPECT_NE(entry.find("Less to do"), std::string::npos);
    EXPECT_NE(entry.find("program_b_sha256"), std::string::npos) << "the binary's hash";
}

TEST_F(OutsideRevisions, ABuildThatFailsIsInvalidWithTheEndOfItsLog) {
    repository.write("burn.c", "int main(void) { return undeclared_word; }\n");
    const std::string broken = repository.commit("Broken");
    const CliResult done = ab(slow, broken);
    EXPECT_EQ(done.code, 12) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "build_failed");
    EXPECT_EQ(done.json().at("pairs"), 0);
    const std::string entry =
        read_file((cli.root() / done.json().at("journal").get<std::string>()).string());
    EXPECT_NE(entry.find("undeclared_word"), std::string::npos) << entry;
}

TEST_F(OutsideRevisions, TwoNamesOfOneCommitProveNoDifference) {
    repository.git({"tag", "same", fast});
    const CliResult done = ab(fast, "same");
    EXPECT_EQ(done.code, 12) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "applied_evidence_missing");
}

TEST_F(OutsideRevisions, AnUnknownRevisionIsRefusedBeforeAJobExists) {
    const CliResult done = ab(slow, "no-such-branch");
    EXPECT_EQ(done.code, 2) << done.out << done.err;
    EXPECT_NE(done.err.find("no-such-branch"), std::string::npos) << done.err;
    EXPECT_EQ(cli.run({"queue", "--json"}).json().at("jobs").size(), 0U);
}

}  // namespace
}  // namespace steady
