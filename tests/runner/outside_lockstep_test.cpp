// Two processes in lockstep through the real `steady`: planted differences are found, wrong
// programs end as documented, and nothing stays behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runner/platform/files.h"
#include "tests/support/process_alive.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutsideLockstep : public ::testing::Test {
protected:
    SteadyCli cli;
    // A copy of its own: processes of other tests are told apart by where their program lies.
    const std::string program = (cli.root() / "steady-lockstep-program").string();
    void SetUp() override { fs::copy_file(STEADY_BIN_DIR "/steady-lockstep-program", program); }
    void TearDown() override { EXPECT_EQ(running_below(cli.root()), 0) << "something still runs"; }
    CliResult ab(const std::string& a, const std::string& b, std::vector<std::string> more = {}) {
        std::vector<std::string> words = {"ab", "--lockstep", program + " " + a, program + " " + b,
                                          "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }
};

TEST_F(OutsideLockstep, HalfOfTheWorkIsFoundAndWrittenDown) {
    const CliResult done = ab("1000000", "500000", {"--worth", "20%"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const nlohmann::json shown = done.json();
    EXPECT_EQ(shown.at("verdict"), "accept");
    EXPECT_GT(shown.at("effect").get<double>(), 0.2);
    const std::string entry = read_file((cli.root() / shown.at("journal")).string());
    EXPECT_THAT(entry, HasSubstr("Mode: lockstep. Two processes for each pair, both alive"));
    EXPECT_THAT(entry, HasSubstr("20 turns, after 1 that are left out"));
    EXPECT_THAT(entry, HasSubstr("one random bit per block"));
    EXPECT_THAT(entry, HasSubstr("A first in "));
    EXPECT_EQ(cli.run({"decide", "--all"}).code, 0);

    EXPECT_EQ(ab("500000", "1000000", {"--worth", "20%"}).code, 10);
}

// A small share of a turn's own CPU time, both ways round: on a busy machine wall time also holds
// what a turn waited. How many pairs it takes depends on the machine.
TEST_F(OutsideLockstep, APlantedShareIsFoundBothWaysRound) {
    const char* percent = std::getenv("STEADY_PLANTED_PERCENT");
    if (percent == nullptr) GTEST_SKIP() << "a long test: ctest -C long -R long_outside_planted";
    const std::string slow = "2000000", fast = std::to_string(2000000 - 20000 * std::atoi(percent));
    const std::vector<std::string> more = {
        "--adapter", "lines",   "--metric",
        "cpu_ns",    "--worth", fmt::format("{:.1f}%", 0.5 * std::atoi(percent)),
        "--pairs",   "1000"};
    EXPECT_EQ(ab(slow, fast, more).json().at("verdict"), "accept") << percent;
    EXPECT_EQ(ab(fast, slow, more).json().at("verdict"), "reject") << percent;
}

TEST_F(OutsideLockstep, WhatTheProgramReportsDecides) {
    const CliResult done =
        ab("20000", "19000", {"--adapter", "lines", "--metric", "steps", "--direction", "lower"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_NEAR(done.json().at("effect").get<double>(), 1 / 0.95 - 1, 1e-9);
}

TEST_F(OutsideLockstep, ThePlanAndTheFileSayIt) {
    const CliResult done = ab("20000", "20000 ", {"--pairs", "10", "--inner", "4"});
    const std::string file = done.json().at("file");
    EXPECT_EQ(cli.run({"validate", file}).code, 0);
    EXPECT_THAT(cli.run({"plan", file}).out, HasSubstr("4 turns of each arm, one coin each"));
}

TEST_F(OutsideLockstep, WrongProgramsEndAsDocumented) {
    const CliResult wrong_b = ab("20000", "20000 chatter");
    EXPECT_EQ(wrong_b.json().at("verdict"), "reject") << wrong_b.out << wrong_b.err;
    EXPECT_THAT(wrong_b.out, HasSubstr("parsing file 1"));
    const CliResult wrong_a = ab("20000 crash", "20000");
    EXPECT_EQ(wrong_a.json().at("reason"), "baseline_failed") << wrong_a.out << wrong_a.err;
    const CliResult hanging = ab("20000", "20000 hang", {"--timeout", "5"});
    EXPECT_EQ(hanging.json().at("verdict"), "reject") << hanging.out << hanging.err;
    EXPECT_THAT(hanging.out, HasSubstr("timeout"));
    EXPECT_THAT(ab("1", "2", {"--budget", "5"}).err, HasSubstr("--pairs"));
    EXPECT_THAT(ab("1", "2", {"--metric", "peak_memory_bytes"}).err, HasSubstr("wall_seconds"));
}

}  // namespace
}  // namespace steady
