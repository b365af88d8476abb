// The layout control B0 of outside programs: measured against A beside A/A, shown, and of no weight
// in the verdict. The differences are counted steps, so they are there on every machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/platform/files.h"
#include "tests/support/counted_program.h"
#include "tests/support/git_fixture.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class OutsideLayout : public ::testing::Test {
protected:
    SteadyCli cli;

    void SetUp() override { std::ofstream(cli.root() / "steps.sh") << counted_program(); }

    // B halves the steps; B0 is B's command with its feature off and `hidden` steps.
    static json question(int hidden) {
        json spec = counted_question();
        spec["arms"]["B"]["args"] = {"200"};
        spec["arms"]["B0"] = {{"role", "layout_control"},
                              {"run", {"sh", "steps.sh"}},
                              {"args", {"200"}},
                              {"env", {{"HIDDEN", std::to_string(hidden)}}}};
        spec["expect_diff"] = {"args"};
        return spec;
    }
    static json control_of(const json& shown) {
        for (const json& check : shown.at("checks"))
            if (check.at("name") == "layout_control") return check;
        return {};
    }
    std::string entry_of(const json& shown) const {
        return read_file((cli.root() / shown.at("journal").get<std::string>()).string());
    }
};

TEST_F(OutsideLayout, IsMeasuredAndShown) {
    const std::string file = cli.experiment("control", question(400));
    EXPECT_EQ(cli.run({"validate", file}).code, 0);
    const CliResult done = cli.run({"run", file, "--json"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr("A/B0 pair 10/≤10"));
    const json shown = done.json();
    EXPECT_NEAR(shown.at("effect").get<double>(), 1.0, 1e-9) << "B against A, not against B0";
    EXPECT_EQ(control_of(shown).at("status"), "ok") << control_of(shown);
    EXPECT_THAT(control_of(shown).at("detail"), HasSubstr("B0 against A: +0.00 %"));
    EXPECT_THAT(control_of(shown).at("detail"), HasSubstr("over 10 pairs"));
    const std::string entry = entry_of(shown);
    EXPECT_THAT(entry, HasSubstr("## Layout control"));
    EXPECT_THAT(entry, HasSubstr("| `env.HIDDEN` | `unset` | `400` |"));
    EXPECT_THAT(entry, HasSubstr("| gate | A runs | B runs | B0 runs |"));
    EXPECT_THAT(entry, HasSubstr("B0's program"));
    EXPECT_EQ(cli.run({"decide", "--all"}).code, 0);
    EXPECT_EQ(cli.run({"journal", "--check"}).code, 0);
}

TEST_F(OutsideLayout, AnEffectOfTheLayoutIsFlagged) {
    const json shown = cli.run({"run", cli.experiment("moved", question(300)), "--json"}).json();
    EXPECT_EQ(shown.at("verdict"), "accept") << "it decides nothing";
    EXPECT_EQ(control_of(shown).at("status"), "flag") << control_of(shown);
    EXPECT_THAT(control_of(shown).at("detail"), HasSubstr("+33.3"));
    EXPECT_THAT(entry_of(shown), HasSubstr("The layout alone changes the metric"));
}

TEST_F(OutsideLayout, AControlThatDoesOtherWorkMakesTheRunInvalid) {
    json spec = question(400);
    spec["arms"]["B0"]["args"] = {"200", "other"};
    const CliResult done = cli.run({"run", cli.experiment("other", spec), "--json"});
    EXPECT_EQ(done.code, 12) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "baseline_failed");
    EXPECT_THAT(done.json().at("sentence"), HasSubstr("the layout control B0"));
    EXPECT_EQ(done.json().at("pairs"), 0);
}

TEST_F(OutsideLayout, WorksInLockstep) {
    const std::string program = std::string(STEADY_BIN_DIR) + "/steady-lockstep-program";
    json spec = counted_question();
    spec["arms"] = {{"A", {{"run", {program, "20000"}}}},
                    {"B", {{"run", {program, "10000"}}}},
                    {"B0",
                     {{"role", "layout_control"},
                      {"run", {program, "20000"}},
                      {"env", {{"PADDING", "moves the stack"}}}}}};
    spec["expect_diff"] = {"run"};
    spec["gates"][0]["need"] = {{"exit", 0}};
    spec["schedule"] = {
        {"mode", "lockstep"}, {"pairs", {{"max", 20}}}, {"aa_pairs", 2}, {"inner", 4}};
    const CliResult done = cli.run({"run", cli.experiment("turns", spec), "--json"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_THAT(control_of(done.json()).at("detail"), HasSubstr("B0 against A: +0.00 %"));
}

// The usual form: the candidate's build with its feature switched off, and a build that fails.
TEST_F(OutsideLayout, IsBuiltFromItsRevision) {
    GitFixture repository;
    const auto program = [](const char* steps) {
        return std::string("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n") +
               "  printf(\"{\\\"metric\\\": \\\"steps\\\", \\\"value\\\": %d}\\n\", " + steps +
               ");\n  return 0;\n}\n";
    };
    repository.write("steps.c", program("400"));
    const std::string before = repository.commit("As it was");
    repository.write("steps.c", program("getenv(\"FEATURE\") ? 400 : 200"));
    const std::string after = repository.commit("Fewer steps");
    repository.write("steps.c", "int main(void) { return undeclared; }\n");
    const std::string broken = repository.commit("Broken");
    fs::create_directories(cli.state() / "sources");
    fs::create_directory_symlink(repository.path(), cli.state() / "sources/counted");
    json spec = counted_question();
    spec["subject"] = {{"program", "outside"},
                       {"repo", "counted"},
                       {"build", {{"cc", "-O1", "-o", "steps", "steps.c"}}}};
    spec["arms"] = {{"A", {{"rev", before}, {"run", {"./steps"}}}},
                    {"B", {{"rev", after}, {"run", {"./steps"}}}},
                    {"B0",
                     {{"rev", after},
                      {"run", {"./steps"}},
                      {"env", {{"FEATURE", "off"}}},
                      {"role", "layout_control"}}}};
    spec["expect_diff"] = {"rev"};
    spec["gates"][0]["need"] = {{"exit", 0}};
    const CliResult done = cli.run({"run", cli.experiment("built", spec), "--json"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_THAT(control_of(done.json()).at("detail"), HasSubstr("B0 against A: +0.00 %"));
    EXPECT_THAT(entry_of(done.json()), HasSubstr("| B0: commit | `" + after));

    spec["arms"]["B0"]["rev"] = broken;
    const CliResult failed = cli.run({"run", cli.experiment("unbuilt", spec), "--json"});
    EXPECT_EQ(failed.code, 12) << failed.out << failed.err;
    EXPECT_EQ(failed.json().at("reason"), "build_failed");
    EXPECT_THAT(entry_of(failed.json()), HasSubstr("undeclared"));
}

TEST_F(OutsideLayout, WhatControlsNothingIsRefused) {
    json equal = question(400);
    equal["arms"]["B0"] = equal["arms"]["A"];
    equal["arms"]["B0"]["role"] = "layout_control";
    json undecided = question(400);
    undecided["gates"][1]["role"] = "advice";
    json engine = small_experiment();
    engine["arms"]["B0"] = {{"role", "layout_control"}};
    int n = 0;
    for (const json& spec : {equal, undecided, engine}) {
        const CliResult done =
            cli.run({"validate", cli.experiment("refused-" + std::to_string(++n), spec)});
        EXPECT_EQ(done.code, 2) << done.out;
        EXPECT_THAT(done.out + done.err, HasSubstr("/arms/B0"));
    }
}

}  // namespace
}  // namespace steady
