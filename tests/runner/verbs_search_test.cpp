// The memory of what was tried, against the records that this project ships: on a fresh database,
// by op, variant, verdict, CPU and text, with near words when nothing is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Search : public ::testing::Test {
protected:
    Search() {
        std::filesystem::create_directories(cli.root() / "experiments");
        std::filesystem::copy(records(), cli.root() / "experiments" / "records",
                              std::filesystem::copy_options::recursive);
    }
    static std::filesystem::path records() {
        return std::filesystem::path(STEADY_SOURCE_DIR) / "experiments" / "records";
    }
    nlohmann::json tried(std::vector<std::string> words) {
        words.insert(words.begin(), "tried");
        words.push_back("--json");
        const CliResult result = cli.run(words);
        EXPECT_EQ(result.code, 0) << result.err;
        return result.json();
    }
    static std::vector<std::string> ids(const nlohmann::json& found) {
        std::vector<std::string> out;
        for (const auto& row : found.at("attempts")) out.push_back(row.at("id"));
        return out;
    }

    SteadyCli cli;
};

TEST_F(Search, AFreshDatabaseKnowsWhatTheProjectShips) {
    const nlohmann::json experts = tried({"q4_0_experts"});
    EXPECT_EQ(experts.at("nearest"), false);
    EXPECT_GE(experts.at("attempts").size(), 12U) << "dozens lie beside the program";
    EXPECT_THAT(ids(experts), Contains("champion-experts-98fd8eb5"));
    EXPECT_EQ(ids(tried({"Q4_0_EXPERTS", "8-bit", "activations"})),
              ids(tried({"8-bit activations q4_0_experts"})))
        << "several words, in any order and case, as one argument or several";
    const nlohmann::json rejected = tried({"q4_0_matvec", "reject", "amd"});
    for (const auto& row : rejected.at("attempts")) {
        EXPECT_EQ(row.at("verdict"), "reject");
    }
    const auto amd = ids(tried({"amd-avx2"})), amx = ids(tried({"intel-amx"}));
    EXPECT_GE(amd.size(), 20U);
    EXPECT_GE(amx.size(), 4U);
    EXPECT_THAT(amd, Contains("champion-avx2-dense-rows16-4d90a19d"));
    EXPECT_THAT(amx, Not(Contains("champion-avx2-dense-rows16-4d90a19d")))
        << "the class of a CPU tells them apart";
}

TEST_F(Search, WhatNothingHasGetsTheNearest) {
    const nlohmann::json found = tried({"q4_0_expertz", "prefetch"});
    EXPECT_EQ(found.at("nearest"), true);
    ASSERT_EQ(found.at("unknown").size(), 1U);
    EXPECT_EQ(found.at("unknown").at(0).at("word"), "q4_0_expertz");
    EXPECT_THAT(found.at("unknown").at(0).at("near"), Contains("q4_0_experts"));
    EXPECT_FALSE(found.at("attempts").empty()) << "those with the other word";
    const CliResult none = cli.run({"tried", "zzzyqqq"});
    EXPECT_EQ(none.code, 0);
    EXPECT_THAT(none.out, HasSubstr("nothing has the word \"zzzyqqq\""));
    EXPECT_EQ(cli.run({"tried", "!!"}).code, 2);
    const CliResult hostile = cli.run({"tried", "a') | ('b:*", "'; drop table steady.job; --"});
    EXPECT_EQ(hostile.code, 0) << hostile.err;
    EXPECT_THAT(cli.run({"tried", "champion-experts"}).out, HasSubstr("champion-experts"));
}

TEST_F(Search, PlanSubmitAndJournalAskTheSameMemory) {
    const std::string file = (std::filesystem::path(STEADY_SOURCE_DIR) / "experiments" /
                              "champions" / "champion-experts.json")
                                 .string();
    EXPECT_THAT(cli.run({"plan", file}).out, HasSubstr("about q4_0_experts"));
    EXPECT_THAT(cli.run({"submit", file}).out, HasSubstr("about q4_0_experts"));
    EXPECT_THAT(cli.run({"journal", "--about", "q4_0_experts accept"}).out,
                HasSubstr("champion-experts"));
}

TEST_F(Search, AnImportedOrDecidedExperimentIsFoundOnceByVerdictAndCpu) {
    const std::size_t before = tried({"champion-experts"}).at("attempts").size();
    const CliResult imported =
        cli.run({"import", (records() / "champion-experts-98fd8eb5.steady.json").string()});
    ASSERT_EQ(imported.code, 0) << imported.err;
    EXPECT_EQ(tried({"champion-experts"}).at("attempts").size(), before);
    const auto rows = tried({"champion-experts-98fd8eb5", "accept", "intel-avx512_vnni"});
    ASSERT_EQ(rows.at("attempts").size(), 1U);
    EXPECT_EQ(rows.at("nearest"), false);
    EXPECT_EQ(rows.at("attempts").at(0).at("file"), "") << "it is in the database now";
}

}  // namespace
}  // namespace steady
