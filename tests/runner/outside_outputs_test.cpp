// Whose fault it is when an output, a file or a proof is not what the experiment asks for, and what
// is refused before anything runs. All rests on counted work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "tests/support/counted_program.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OutsideOutputs : public ::testing::Test {
protected:
    SteadyCli cli;

    // writes.sh STEPS [WORD]: the word goes into mode.txt, and without one the file stays.
    void SetUp() override {
        write("steps.sh", counted_program());
        write("writes.sh",
              "[ -z \"$2\" ] || echo \"$2\" > mode.txt\nset -- \"$1\"\n" + counted_program());
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(cli.root() / name) << text;
        ::chmod((cli.root() / name).c_str(), 0755);
    }
    static json question(const std::vector<std::string>& a, const std::vector<std::string>& b) {
        json spec = counted_question();
        spec["arms"] = {{"A", {{"run", a}}}, {"B", {{"run", b}}}};
        spec["expect_diff"] = {"run"};
        return spec;
    }
    json run(const json& spec) {
        const std::string id = "asked-" + std::to_string(++n_);
        const CliResult done = cli.run({"run", cli.experiment(id, spec), "--json"});
        EXPECT_EQ(done.err.find("was not finished"), std::string::npos) << done.err;
        return done.out.empty() ? json{{"verdict", done.err}, {"reason", nullptr}} : done.json();
    }
    std::string refusal(const json& spec) {
        const std::string id = "refused-" + std::to_string(++n_);
        const CliResult done = cli.run({"validate", cli.experiment(id, spec)});
        EXPECT_EQ(done.code, 2) << done.out;
        return done.out + done.err;
    }

    int n_ = 0;
};

// Both write the same place, so what A left there must not pass as B's.
TEST_F(OutsideOutputs, AFileThatOnlyAWritesIsNotBs) {
    json spec = question({"sh", "writes.sh", "400", "x"}, {"sh", "writes.sh", "200"});
    spec["gates"][0]["need"] = {{"file", "mode.txt"}};
    const json shown = run(spec);
    EXPECT_EQ(shown.at("reason"), "wrong_output") << shown;
    EXPECT_THAT(shown.at("sentence"), HasSubstr("B did not write it"));

    spec["arms"]["B"]["run"].push_back("x");
    EXPECT_EQ(run(spec).at("verdict"), "accept");
    spec["arms"]["A"]["run"] = {"sh", "writes.sh", "400"};
    EXPECT_EQ(run(spec).at("reason"), "baseline_failed");
}

TEST_F(OutsideOutputs, AProofInAFileIsLookedUpRightAfterItsArmRan) {
    json spec = question({"sh", "writes.sh", "400", "slow"}, {"sh", "writes.sh", "200", "fast"});
    spec["applied"] = {{"A", {{"file_has", "mode.txt: slow"}}},
                       {"B", {{"file_has", "mode.txt: fast"}}}};
    EXPECT_EQ(run(spec).at("verdict"), "accept");
    spec["applied"]["B"]["file_has"] = "mode.txt: slow";
    EXPECT_EQ(run(spec).at("reason"), "applied_evidence_missing");
}

// What A itself lacks says nothing about B.
TEST_F(OutsideOutputs, ABaselineThatIsNotAsAskedMakesTheRunInvalid) {
    json spec = question({"sh", "steps.sh", "400"}, {"sh", "steps.sh", "200"});
    spec["gates"][0]["need"] = {{"stdout", "matches:steps of 200"}};
    const json other = run(spec);
    EXPECT_EQ(other.at("reason"), "baseline_failed") << other;
    EXPECT_THAT(other.at("sentence"), HasSubstr("the baseline gave no usable output: its stdout"));
    spec["gates"][0]["need"] = {{"stdout", "sha256:" + std::string(64, '0')}};
    EXPECT_EQ(run(spec).at("reason"), "baseline_failed");
    spec["gates"][0]["need"] = {{"stdout", "matches:steps of 400"}};
    EXPECT_EQ(run(spec).at("reason"), "wrong_output");
}

TEST_F(OutsideOutputs, AResultOnStandardErrorIsShownToWhoAsksForItOnStandardOutput) {
    const std::vector<std::string> told = {"sh", "-c",
                                           "echo 'speed 12.5 MB/s password=hunter2' >&2"};
    json spec = question(told, told);
    spec["gates"][0]["need"] = {{"exit", 0}};
    spec["gates"][1].update({{"metric", "mb_s"},
                             {"adapter", "regex"},
                             {"pattern", "(?<value>[0-9.]+) MB/s"},
                             {"direction", "higher"}});
    spec["arms"]["B"]["run"].push_back("other");
    const json shown = run(spec);
    EXPECT_EQ(shown.at("reason"), "baseline_failed") << shown;
    EXPECT_THAT(shown.at("sentence"), HasSubstr("standard error has"));
    EXPECT_THAT(shown.at("sentence"), HasSubstr("speed 12.5 MB/s"));
    EXPECT_THAT(shown.at("sentence"), Not(HasSubstr("hunter2")));
}

TEST_F(OutsideOutputs, AProgramThatCannotBeStartedIsItsArmsFault) {
    write("broken", "#!/no/such/interpreter\n");
    const json shown = run(question({"sh", "steps.sh", "400"}, {"./broken"}));
    EXPECT_EQ(shown.at("reason"), "wrong_output") << shown;
    EXPECT_THAT(shown.at("sentence"), HasSubstr("interpreter"));
    EXPECT_EQ(run(question({"./broken"}, {"sh", "steps.sh", "400"})).at("reason"),
              "baseline_failed");

    ::chmod((cli.root() / "broken").c_str(), 0644);
    EXPECT_THAT(run(question({"sh", "steps.sh", "400"}, {"./broken"})).at("verdict"),
                HasSubstr("may not be executed"));
    json check = question({"sh", "steps.sh", "400"}, {"sh", "steps.sh", "200"});
    check["gates"][0]["need"] = {{"check", {"./no-such", "{out_a}", "{out_b}"}}};
    EXPECT_THAT(run(check).at("verdict"), HasSubstr("there is no program ./no-such"));
}

// The same values in the other direction are another question; evidence against one is none
// against the other.
TEST_F(OutsideOutputs, TheOtherDirectionStartsWithoutEarlierEvidence) {
    json spec = question({"sh", "steps.sh", "200"}, {"sh", "steps.sh", "400"});
    spec["schedule"]["pairs"]["max"] = 12;  // enough for a first attempt, not for a second
    EXPECT_EQ(run(spec).at("reason"), "regression");
    spec["gates"][1]["direction"] = "higher";
    EXPECT_EQ(run(spec).at("verdict"), "accept");
}

// A guard's test may pass before its interval stands; a cell is measured until it has one.
TEST_F(OutsideOutputs, EveryCellHasAnInterval) {
    json spec = question({"sh", "steps.sh", "40{k}"}, {"sh", "steps.sh", "20{k}"});
    spec["matrix"] = {{"k", {1, 2}}};
    spec["gates"][0]["at"] = spec["gates"][1]["at"] = {{"k", 1}};
    json other = spec["gates"][1];
    other.update({{"id", "other"}, {"role", "guard"}, {"margin", "2%"}, {"at", {{"k", 2}}}});
    spec["gates"].push_back(other);
    const json shown = run(spec);
    EXPECT_EQ(shown.at("verdict"), "accept") << shown;
    for (const json& gate : shown.at("gates")) {
        if (gate.at("level") == "correctness") continue;
        EXPECT_TRUE(gate.at("interval").at(0).is_number()) << gate;
        EXPECT_TRUE(gate.at("interval").at(1).is_number()) << gate;
    }
}

// The program writes down which arm it was: both checks of outputs, warm-up runs, A against A,
// then pairs whose order a coin drew, two runs a turn.
TEST_F(OutsideOutputs, EveryRunIsTheOneThatThePlanNames) {
    write("told.sh", "printf \"$2\" >> " + (cli.root() / "order.txt").string() +
                         "\nset -- \"$1\"\n" + counted_program());
    json spec = question({"sh", "told.sh", "400", "A"}, {"sh", "told.sh", "200", "B"});
    spec["schedule"]["warmup_runs"] = 3;
    spec["schedule"]["inner"] = 2;
    spec["schedule"]["aa_pairs"] = 2;
    spec["schedule"]["seed"] = 11;  // else the folder's name would draw the coins
    const json shown = run(spec);
    EXPECT_EQ(shown.at("verdict"), "accept") << shown;
    std::ifstream in(cli.root() / "order.txt");
    std::string order;
    in >> order;
    EXPECT_TRUE(std::regex_match(order, std::regex("(AB){5}(AAAA){2,}(AABB|BBAA){9,}"))) << order;
    EXPECT_THAT(order, HasSubstr("AABBBBAA"));
    EXPECT_THAT(order, HasSubstr("BBAAAABB"));
}

TEST_F(OutsideOutputs, WhatCanDecideNothingIsRefused) {
    const json good = question({"sh", "steps.sh", "400"}, {"sh", "steps.sh", "200"});
    json proof = good, pattern = good, check = good, select = good;
    proof["applied"] = {{"B0", {{"log_has", "x"}}}};
    EXPECT_THAT(refusal(proof), HasSubstr("/applied/B0"));
    pattern["gates"][1]["adapter"] = "regex";
    pattern["gates"][1]["pattern"] = "steps of ([0-9]+)";
    EXPECT_THAT(refusal(pattern), HasSubstr("without a group value"));
    check["gates"][0]["need"] = {{"check", {"true"}}};
    EXPECT_THAT(refusal(check), HasSubstr("without {out_a} and {out_b}"));
    select["gates"][1] = {{"id", "speed"},
                          {"level", "model"},
                          {"role", "decides"},
                          {"metric", "wall_seconds"},
                          {"select", "x"}};
    EXPECT_THAT(refusal(select), HasSubstr("/gates/1/select"));
}

TEST_F(OutsideOutputs, InitWritesAQuestionAboutAnyProgram) {
    EXPECT_EQ(cli.run({"init", "--outside", "mine"}).code, 0);
    EXPECT_THAT(cli.run({"validate", "mine"}).out, HasSubstr("placeholder"));
    const CliResult filled =
        cli.run({"init", "--outside", "own", "--claim", "A formula is faster than a loop",
                 "--because", "it is one product"});
    EXPECT_EQ(filled.code, 0) << filled.err;
    EXPECT_EQ(cli.run({"validate", "own"}).code, 0);
    EXPECT_THAT(cli.run({"plan", "own"}).out, HasSubstr("arms differ in  run"));
    EXPECT_EQ(cli.run({"init", "--outside", "third", "--from", "own"}).code, 2);
}

}  // namespace
}  // namespace steady
