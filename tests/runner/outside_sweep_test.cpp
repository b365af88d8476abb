// `steady sweep` over arguments and environment of a program: the planted best is found and
// confirmed on new pairs, and what cannot run is refused before anything is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/platform/files.h"
#include "tests/support/counted_program.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class OutsideSweep : public ::testing::Test {
protected:
    SteadyCli cli;

    void SetUp() override { std::ofstream(cli.root() / "steps.sh") << counted_program(); }

    // B's steps and, where they are given, its pool are the axes.
    static json sweep_of(const json& steps, const json& pools = {}) {
        json spec = counted_question();
        spec["arms"]["B"]["args"] = {"{steps}"};
        spec["expect_diff"] = {"args"};
        spec["applied"] = {{"B", {{"log_has", "steps of {steps}"}}}};
        spec["sweep"] = {{"axes", {{"args.steps", steps}}}, {"screen_pairs", 3}};
        if (!pools.is_null()) {
            spec["sweep"]["axes"]["env.POOL"] = pools;
            spec["expect_diff"] = {"args", "env.POOL"};
        }
        return spec;
    }
    std::string entry_of(const json& shown) const {
        return read_file((cli.root() / shown.at("journal").get<std::string>()).string());
    }
};

TEST_F(OutsideSweep, ThePlantedBestIsConfirmedOnNewPairs) {
    const std::string file = cli.experiment("choose", sweep_of({300, 200, 350}, {1, 4}));
    EXPECT_EQ(cli.run({"validate", file}).code, 0);
    const CliResult planned = cli.run({"plan", file});
    EXPECT_THAT(planned.out, HasSubstr("6 settings of B, ≤ 3 pairs each")) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("steady sweep"));

    const CliResult done = cli.run({"sweep", file, "--json"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const json out = done.json();
    EXPECT_EQ(out.at("chosen"), (json{{"args.steps", "200"}, {"env.POOL", "4"}}));
    ASSERT_EQ(out.at("screened").size(), 6U);
    for (const json& one : out.at("screened")) {
        EXPECT_EQ(one.at("verdict"), "inconclusive") << "a few pairs decide nothing: " << one;
        EXPECT_EQ(one.at("pairs"), 3) << one;
    }
    const json& confirmed = out.at("confirmation");
    EXPECT_EQ(confirmed.at("verdict"), "accept");
    EXPECT_NEAR(confirmed.at("effect").get<double>(), 400.0 / 50 - 1, 1e-9);
    EXPECT_GE(confirmed.at("pairs").get<int>(), 9);

    const std::string entry = entry_of(confirmed);
    EXPECT_THAT(entry, HasSubstr("## Settings tried"));
    EXPECT_THAT(entry, HasSubstr("| `350` | `1` | +14.3 % | 3 | measured |"));
    EXPECT_THAT(entry, HasSubstr("| `200` | `4` | +700.0 % | 3 | **chosen** |"));
    EXPECT_THAT(entry, HasSubstr("`sh steps.sh 200`")) << "what B ran, not the place in it";
    EXPECT_THAT(entry, Not(HasSubstr("{steps}")));
    const json shown = cli.run({"show", confirmed.at("id"), "--json"}).json();
    EXPECT_EQ(shown.at("sweep").at("points").size(), 6U);
    EXPECT_EQ(cli.run({"decide", "--all"}).code, 0);
    EXPECT_EQ(cli.run({"journal", "--check"}).code, 0);
}

// The record travels with what was tried before it.
TEST_F(OutsideSweep, AnExportedConfirmationKeepsItsSettings) {
    const CliResult done =
        cli.run({"sweep", cli.experiment("kept", sweep_of({300, 200})), "--json"});
    const std::string id = done.json().at("confirmation").at("id");
    const std::string file = (cli.root() / "kept.steady.json").string();
    ASSERT_EQ(cli.run({"export", id, "--out", file}).code, 0);
    SteadyCli other;
    const CliResult imported = other.run({"import", file});
    ASSERT_EQ(imported.code, 0) << imported.err;
    EXPECT_EQ(other.run({"show", id, "--json"}).json().at("sweep").at("points").size(), 2U);
}

TEST_F(OutsideSweep, WhereNothingWinsTheBestIsRejected) {
    const CliResult done =
        cli.run({"sweep", cli.experiment("worse", sweep_of({800, 400, 600})), "--json"});
    EXPECT_EQ(done.code, 10) << done.out << done.err;
    const json out = done.json();
    EXPECT_EQ(out.at("chosen"), (json{{"args.steps", "600"}}));
    EXPECT_EQ(out.at("confirmation").at("verdict"), "reject");
    const json& itself = out.at("screened").at(1);
    EXPECT_EQ(itself.at("id"), "") << "400 is what A runs: " << itself;
    EXPECT_THAT(entry_of(out.at("confirmation")), HasSubstr("| `400` | — | — | equals A | — |"));
}

TEST_F(OutsideSweep, WhereNoSettingRunsNothingIsConfirmed) {
    json spec = sweep_of({300, 200});
    spec["arms"]["B"]["args"] = {"{steps}", "crash"};
    const CliResult done = cli.run({"sweep", cli.experiment("broken", spec), "--json"});
    EXPECT_EQ(done.code, 11) << done.out << done.err;
    EXPECT_TRUE(done.json().at("chosen").is_null());
    for (const json& one : done.json().at("screened")) EXPECT_EQ(one.at("reason"), "wrong_output");
    EXPECT_FALSE(done.json().contains("confirmation"));
}

TEST_F(OutsideSweep, WhatCannotRunIsRefusedBeforeAnythingIsMeasured) {
    json missing = sweep_of({300, 200});
    missing["arms"]["B"]["run"] = {"./tool-{steps}"};
    missing["expect_diff"] = {"args", "run"};
    json level = sweep_of({300, 200});
    level["sweep"]["axes"] = {{"level", {1, 2}}};
    json typo = sweep_of({300, 200});
    typo["sweep"]["axes"] = {{"args.stepz", {1, 2}}};
    json kernels = sweep_of({300, 200});
    kernels["sweep"]["axes"]["kernels.add"] = {"avx2", "reference"};
    json words = small_experiment();
    words["sweep"] = {{"axes", {{"threads", {"two", 1}}}}};
    words["expect_diff"].push_back("threads");
    int n = 0;
    for (const auto& [spec, hint] :
         {std::pair(missing, "./tool-300"), std::pair(level, "args.<name>, env.<NAME>"),
          std::pair(typo, "did you mean {stepz}?"), std::pair(kernels, "args.<name> or env.<NAME>"),
          std::pair(words, "a whole number from 1 to 1024")}) {
        const CliResult done =
            cli.run({"sweep", cli.experiment("bad-" + std::to_string(++n), spec)});
        EXPECT_EQ(done.code, 2) << done.out << done.err;
        EXPECT_THAT(done.err, HasSubstr(hint));
    }
    const std::string good = cli.experiment("good", sweep_of({300, 200}));
    for (const char* verb : {"run", "submit"}) {
        const CliResult refused = cli.run({verb, good});
        EXPECT_EQ(refused.code, 2) << verb;
        EXPECT_THAT(refused.err, HasSubstr("steady sweep"));
    }
    const CliResult plain = cli.run({"sweep", cli.experiment("plain", counted_question())});
    EXPECT_THAT(plain.err, HasSubstr("args.<name>"));
    EXPECT_EQ(cli.run({"show", "last"}).code, 2) << "something was measured";
}

}  // namespace
}  // namespace steady
