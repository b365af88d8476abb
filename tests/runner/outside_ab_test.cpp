// From two commands to a verdict, through the real `steady` and a program made here, whose true
// difference is known. Whatever an arm does, it ends as documented and nothing stays behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runner/platform/files.h"
#include "runner/record/stacks.h"
#include "tests/support/burn_program.h"
#include "tests/support/counted_program.h"
#include "tests/support/json_schema.h"
#include "tests/support/process_alive.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Outside : public ::testing::Test {
protected:
    SteadyCli cli;

    void SetUp() override { compile("burn", burn_source()); }
    void TearDown() override { EXPECT_EQ(running_below(cli.root()), 0) << "something still runs"; }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((cli.root() / name).parent_path());
        std::ofstream(cli.root() / name) << text;
    }
    void compile(const std::string& name, const std::string& source) const {
        write(name + ".c", source);
        const std::string path = (cli.root() / name).string();
        ASSERT_EQ(std::system(("cc -O1 -o " + path + " " + path + ".c").c_str()), 0);
    }
    // CPU time: what other programs on the machine disturb least. What is planted is half of the
    // work, so that it is found at any speed of the machine.
    CliResult ab(const std::string& a, const std::string& b, std::vector<std::string> more = {}) {
        std::vector<std::string> words = {"ab", a, b, "--json", "--metric", kMetric};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }
    // Steps that the programs report: the same in every run.
    CliResult counted(const std::string& a, const std::string& b,
                      const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = {"ab",    a,          b,       "--json",      "--adapter",
                                          "lines", "--metric", "steps", "--direction", "lower"};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }
    std::string entry_of(const nlohmann::json& shown) const {
        return read_file((cli.root() / shown.at("journal").get<std::string>()).string());
    }

    static constexpr const char* kMetric = "cpu_seconds";
};

TEST_F(Outside, AFasterCommandIsAcceptedAndWrittenDown) {
    const CliResult done = ab("./burn 1000", "./burn 500", {"--worth", "20%"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const nlohmann::json shown = done.json();
    EXPECT_EQ(shown.at("verdict"), "accept");
    EXPECT_GT(shown.at("effect").get<double>(), 0.2);
    EXPECT_TRUE(shown.at("sentence")
                    .get<std::string>()
                    .starts_with("`./burn 500` is faster than `./burn 1000`: "))
        << shown.at("sentence");

    const std::string entry = entry_of(shown);
    EXPECT_NE(entry.find("`./burn 500`"), std::string::npos);
    EXPECT_NE(entry.find("peak_memory_bytes"), std::string::npos) << "all that was measured";
    for (const char* of_the_engine : {"token", "champion", "the model", "kernel_", "variant"})
        EXPECT_EQ(entry.find(of_the_engine), std::string::npos) << of_the_engine;

    // The file that it ran can be run again, and is another run of the same question.
    const std::string file = shown.at("file");
    EXPECT_EQ(cli.run({"validate", file}).code, 0);
    const nlohmann::json known = cli.run({"run", file, "--json"}).json();
    EXPECT_EQ(known.at("id"), shown.at("id")) << "the same programs: its verdict stands";
    EXPECT_EQ(known.at("measured_now"), false);
    const CliResult again = cli.run({"run", file, "--again", "--json"});
    EXPECT_EQ(again.json().at("experiment"), shown.at("experiment"));
    EXPECT_EQ(again.json().at("rerun"), 1);
    EXPECT_EQ(cli.run({"decide", "--all"}).code, 0);
    EXPECT_EQ(cli.run({"journal", "--check"}).code, 0);
    EXPECT_EQ(cli.run({"report", "last", "--exit-code"}).code, again.code);
}

TEST_F(Outside, TheSlowerOfTheTwoIsRejected) {
    const CliResult done = ab("./burn 500", "./burn 1000", {"--worth", "20%"});
    EXPECT_EQ(done.code, 10) << done.out << done.err;
    EXPECT_EQ(done.json().at("verdict"), "reject");
    EXPECT_LT(done.json().at("effect").get<double>(), 0);
}

// The steps decide, so that no noise of the machine does; the profile must find the function.
TEST_F(Outside, AProfileNamesTheFunctionThatTheChangeMadeCheaper) {
    if (std::system("perf record -q -e cpu-clock -o /dev/null -- true >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "perf cannot sample here (apt-get install linux-perf)";
    compile("two", R"(#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline))
static volatile unsigned long sum;
APART void scan(long n) { for (long i = 0; i < n; ++i) sum += (unsigned long)i; }
APART void parse(long n) { for (long i = 0; i < n; ++i) sum += (unsigned long)i; }
int main(int argc, char** argv) {
    const long units = argc > 1 ? atol(argv[1]) : 0;
    for (int turn = 0; turn < 100; ++turn) {
        scan(units * 1000);
        parse(600000);
    }
    printf("{\"metric\": \"steps\", \"value\": %ld, \"unit\": \"count\"}\n", units);
    return 0;
}
)");
    const CliResult done = counted("./two 1000", "./two 200", {"--profile", "frame_pointers"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const std::string id = done.json().at("id");
    const CliResult shown = cli.run({"show", id, "--stacks", "B", "--json"});
    const auto stacks = stacks_from_text(shown.json().at("stacks").dump());
    ASSERT_EQ(stacks.problem, "");
    EXPECT_THAT(cli.run({"show", id, "--stacks", "B"}).out, HasSubstr("scan"));
    std::map<std::string, FlameFunction> of;
    for (const FlameFunction& one : flame_graph(stacks).functions) of[one.name] = one;
    EXPECT_LT(of.at("scan").high_ns, 0) << "a fifth of the work";
    // Beside the other function of the same runs: the machine may be twice as slow in those of B.
    EXPECT_GT(of.at("scan").a_ns / of.at("parse").a_ns,
              3 * of.at("scan").b_ns / of.at("parse").b_ns);
    const nlohmann::json schema = cli.run({"schema", "show"}).json();
    EXPECT_THAT(JsonSchema(schema).errors(shown.json(), schema), ::testing::IsEmpty());
    const CliResult odd = cli.run({"show", id, "--stacks", "C"});
    EXPECT_EQ(odd.code, 2);
    EXPECT_THAT(odd.err, HasSubstr("allowed: A, B"));
}

TEST_F(Outside, AProfileThatNobodyAskedForIsExplained) {
    const CliResult typo = counted("./burn 1", "./burn 1", {"--profile", "dwarfs"});
    EXPECT_EQ(typo.code, 2);
    EXPECT_THAT(typo.err, HasSubstr("--profile: found \"dwarfs\", allowed: frame_pointers, dwarf"));
    const CliResult plain = ab("./burn 1000", "./burn 10 other");
    const CliResult none = cli.run({"show", plain.json().at("id"), "--stacks", "A"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("steady ab --profile frame_pointers"));
}

TEST_F(Outside, AnotherOutputIsRejectedBeforeAnyTiming) {
    const nlohmann::json shown = ab("./burn 1000", "./burn 10 other").json();
    EXPECT_EQ(shown.at("verdict"), "reject");
    EXPECT_EQ(shown.at("reason"), "wrong_output");
    EXPECT_EQ(shown.at("pairs"), 0);
    EXPECT_NE(shown.at("sentence").get<std::string>().find("line 1"), std::string::npos)
        << shown.at("sentence");
}

TEST_F(Outside, ACandidateThatCannotAnswerIsRejected) {
    struct Case {
        const char *mode, *word, *timeout_s;  // short only for what ends by nothing else
    };
    for (const auto& [mode, word, timeout_s] :
         {Case{"crash", "signal", "60"}, Case{"hang", "timeout", "3"}, Case{"bomb", "timeout", "3"},
          Case{"flood", "output_cap", "60"}, Case{"fail", "exit", "60"}}) {
        const CliResult done =
            ab("./burn 10", std::string("./burn 10 ") + mode, {"--timeout", timeout_s});
        EXPECT_EQ(done.code, 10) << mode << done.out << done.err;
        EXPECT_EQ(done.json().at("reason"), "wrong_output") << mode;
        EXPECT_NE(done.json().at("sentence").get<std::string>().find(word), std::string::npos)
            << done.json().at("sentence");
        EXPECT_EQ(running_below(cli.root()), 0) << mode;
    }
}

TEST_F(Outside, ABaselineThatCannotAnswerMakesTheRunInvalid) {
    const CliResult done = ab("./burn 10 fail", "./burn 10");
    EXPECT_EQ(done.code, 12) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "baseline_failed");
    EXPECT_NE(done.json().at("sentence").get<std::string>().find("no input"), std::string::npos);
}

int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

// Equal to the last step: no chance can accept it.
TEST_F(Outside, EqualCountsAreNotAccepted) {
    write("steps.sh", counted_program());
    const CliResult done = counted("sh steps.sh 400", "sh steps.sh 400");
    EXPECT_EQ(done.code, 10) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "no_worthwhile_gain");
}

// B works when it is looked at and fails when it is timed.
TEST_F(Outside, ACandidateThatFailsLaterIsUnstable) {
    write("steps.sh", counted_program());
    write("later.sh",
          "[ -e runs ] && n=$(cat runs) || n=0\necho $((n + 1)) > runs\n"
          "[ \"$n\" -lt 2 ] || exit 3\n" +
              counted_program());
    const CliResult done = counted("sh steps.sh 400", "sh later.sh 400");
    EXPECT_EQ(done.code, 10) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "unstable") << done.out;
}

// Never green when nothing is known: equal commands, again and again. By chance one in a hundred
// may be accepted, so this belongs to the long tests.
TEST_F(Outside, EqualCommandsAreNotAccepted) {
    const int runs = from_environment("STEADY_EQUAL_RUNS", 0);
    if (runs == 0) GTEST_SKIP() << "a long test: ctest -C long -R long_outside_equal";
    for (int i = 0; i < runs; ++i) {
        const CliResult done =
            ab("./burn 300", "./burn 300", {"--pairs", "20", "--seed", std::to_string(i)});
        EXPECT_NE(done.code, 0) << done.out << done.err;
        EXPECT_NE(done.json().at("verdict"), "accept") << i;
    }
}

// A planted share of B's own CPU time, both ways round. How many pairs 1, 3 or 5 % take depends on
// the machine, so this belongs to the long tests.
TEST_F(Outside, APlantedShareIsFoundBothWaysRound) {
    const int percent = from_environment("STEADY_PLANTED_PERCENT", 0);
    if (percent == 0) GTEST_SKIP() << "a long test: ctest -C long -R long_outside_planted";
    const std::string slow = "./burn 5000", fast = fmt::format("./burn {}", 5000 - 50 * percent);
    const std::vector<std::string> more = {
        "--worth", fmt::format("{:.1f}%", 0.5 * percent), "--pairs", "1000", "--inner", "3"};
    const nlohmann::json faster = ab(slow, fast, more).json();
    EXPECT_EQ(faster.at("verdict"), "accept") << faster;
    const nlohmann::json slower = ab(fast, slow, more).json();
    EXPECT_EQ(slower.at("verdict"), "reject") << slower;
}

TEST_F(Outside, BadWordsAreRefusedBeforeAnythingRuns) {
    for (const auto& [words, hint] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"ab", "./burn 1"}, "usage: steady ab"},
             {{"ab", "./burn 1 | wc", "./burn 2"}, "only a shell understands"},
             {{"ab", "./burn 'x", "./burn 2"}, "never closed"},
             {{"ab", "./no-such 1", "./burn 2"}, "there is no program"},
             {{"ab", "burn 1", "./burn 2"}, "is ./burn"},
             {{"ab", "./burn \"$N\"", "./burn 2"}, "only a shell understands"},
             {{"ab", "./burn 1", "./burn 2", "--adapter", "llama"}, "llama-bench"},
             {{"ab", "--rev", "main", "./burn 1"}, "needed 2"},
             {{"ab", "./burn 1", "./burn 2", "--metric", "frobs"}, "allowed without --adapter"},
             {{"ab", "./burn 1", "./burn 2", "--metric", "wall_second"}, "mean \"wall_seconds\""},
             {{"ab", "./burn 1", "./burn 2", "--worth", "1"}, "--worth: found \"1\""},
             {{"ab", "./burn 1", "./burn 2", "--exit", "300"}, "--exit"},
             {{"ab", "FAST=1 ./burn 1", "./burn 2"}, "env FAST=1 PROGRAM"}}) {
        const CliResult done = cli.run(words);
        EXPECT_EQ(done.code, 2) << words[1];
        EXPECT_NE(done.err.find(hint), std::string::npos) << done.err;
    }
    EXPECT_EQ(cli.run({"queue", "--json"}).json().at("jobs").size(), 0U);
    for (const auto& left : fs::directory_iterator(cli.root() / "experiments"))
        EXPECT_NE(left.path().extension(), ".json") << "a file was left: " << left.path();
}

// Values that vary by a factor of two, alike in both arms and on every machine: of runs in one
// order the spread follows from the seed alone.
constexpr char kNoisySteps[] =
    "[ -e runs ] && n=$(cat runs) || n=0\necho $((n + 1)) > runs\n"
    "echo \"{\\\"metric\\\": \\\"steps\\\", \\\"value\\\": $(($1 * (100 + n * 7 % 5 * 25)))}\"\n";

// The A/A pairs alone would say that no gain of 1 % can be found; this one is larger.
TEST_F(Outside, ALargeGainIsFoundOnANoisyMachine) {
    write("steps.sh", kNoisySteps);
    const CliResult done = counted("sh steps.sh 800", "sh steps.sh 100", {"--pairs", "40"});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("verdict"), "accept");
}

// With coins of its own, one run in some hundred would be accepted by chance.
TEST_F(Outside, WithoutOneItEndsBeforeTheCap) {
    write("steps.sh", kNoisySteps);
    const CliResult done =
        counted("sh steps.sh 100", "sh steps.sh 100", {"--pairs", "200", "--seed", "7"});
    EXPECT_EQ(done.code, 11) << done.out << done.err;
    EXPECT_EQ(done.json().at("reason"), "machine_too_noisy");
    EXPECT_GE(done.json().at("pairs"), 10);
    EXPECT_LT(done.json().at("pairs"), 200);
}

TEST_F(Outside, ARunMayEndWithAnotherExitCode) {
    write("steps.sh", counted_program() + "exit 3\n");
    const CliResult needs = counted("sh steps.sh 400", "sh steps.sh 200", {});
    EXPECT_EQ(needs.json().at("reason"), "baseline_failed") << needs.out << needs.err;
    EXPECT_NE(needs.out.find("exit code 3, 0 is needed"), std::string::npos) << needs.out;
    const CliResult done = counted("sh steps.sh 400", "sh steps.sh 200", {"--exit", "3"});
    EXPECT_EQ(done.json().at("verdict"), "accept") << done.out << done.err;
}

// Zero against more has no ratio: the verdict is by difference, and a check says so.
TEST_F(Outside, ZeroAgainstMoreIsDecidedAndSaid) {
    write("steps.sh", counted_program());
    const CliResult done = counted("sh steps.sh 5", "sh steps.sh 0");
    EXPECT_EQ(done.json().at("verdict"), "accept") << done.out << done.err;
    EXPECT_NE(done.out.find("zero against more"), std::string::npos) << done.out;
    const std::string told = done.json().at("sentence");
    EXPECT_TRUE(told.ends_with("read the direction, not the size.")) << told;
    EXPECT_EQ(told.find("at least"), std::string::npos) << told;
}

// 900 ms against 1.1 s is no gain; nor is a gain what the program itself calls a loss.
TEST_F(Outside, UnitsAndDirectionsMustAgree) {
    write("speed.sh",
          "printf '{\"metric\": \"speed\", \"value\": %s, \"unit\": \"%s\"%s}\\n' \"$1\" "
          "\"$2\" \"$3\"\n");
    const auto ask = [&](const std::string& a, const std::string& b) {
        return cli.run({"ab", "sh speed.sh " + a, "sh speed.sh " + b, "--json", "--adapter",
                        "lines", "--metric", "speed", "--direction", "lower"});
    };
    const CliResult units = ask("900 ms", "1.1 s");
    EXPECT_EQ(units.code, 10) << units.out << units.err;
    EXPECT_EQ(units.json().at("reason"), "wrong_output");
    EXPECT_NE(units.out.find("it measured speed in s, an earlier run of this comparison in ms"),
              std::string::npos)
        << units.out;
    const CliResult ways = ask("9 ms ',\"direction\":\"higher\"'", "8 ms");
    EXPECT_EQ(ways.json().at("reason"), "baseline_failed") << ways.out << ways.err;
    EXPECT_NE(ways.out.find("better when higher, the experiment when lower"), std::string::npos)
        << ways.out;
}

// The seam's promise: what cannot be run is refused where it is asked, not in a worker.
TEST_F(Outside, WhatCannotRunIsRefusedAtOnce) {
    const nlohmann::json gate = {
        {"id", "speed"}, {"level", "model"}, {"role", "decides"}, {"metric", "wall_seconds"}};
    const nlohmann::json same = {{"id", "same"},
                                 {"level", "correctness"},
                                 {"role", "guard"},
                                 {"need", {{"stdout", "equal"}}}};
    nlohmann::json spec = small_experiment();
    for (const char* key : {"gates", "schedule", "arms", "subject"}) spec.erase(key);
    spec["hypothesis"].erase("predict");
    spec["subject"] = {{"program", "outside"}, {"name", "burn"}};
    spec["arms"] = {{"A", {{"run", {"./burn", "20"}}}}, {"B", {{"run", {"./burn", "10"}}}}};
    spec["expect_diff"] = {"run"};
    spec["gates"] = {same, gate};
    const std::string file = cli.experiment("outside-plain", spec);
    EXPECT_EQ(cli.run({"validate", file}).code, 0) << cli.run({"validate", file}).out;
    nlohmann::json writes = spec;
    writes["gates"][0]["need"] = {{"file", "made.txt"}};
    const CliResult queued = cli.run({"submit", cli.experiment("outside-file", writes)});
    EXPECT_EQ(queued.code, 2) << queued.out;
    EXPECT_NE(queued.err.find("/gates/0/need/file"), std::string::npos) << queued.err;

    nlohmann::json duet = spec;
    duet["schedule"] = {{"mode", "duet"}};
    const std::string refused = cli.experiment("outside-duet", duet);
    EXPECT_EQ(cli.run({"validate", refused}).code, 2);
    EXPECT_EQ(cli.run({"run", refused}).code, 2);
    EXPECT_EQ(cli.run({"queue", "--json"}).json().at("jobs").size(), 0U);
}

// Proofs, a file that both write, a command that compares, cells of a matrix, several runs a turn.
TEST_F(Outside, EveryPartOfTheFileIsHeld) {
    write("make.sh", "echo \"level: $1\"\necho same > made.txt\necho \"cell $2\"\n");
    nlohmann::json spec = small_experiment();
    for (const char* key : {"gates", "schedule", "arms", "subject"}) spec.erase(key);
    spec["hypothesis"].erase("predict");
    spec["subject"] = {{"program", "outside"}, {"name", "make"}};
    spec["arms"] = {{"A", {{"run", {"sh", "make.sh", "3", "{size}"}}}},
                    {"B", {{"run", {"sh", "make.sh", "4", "{size}"}}, {"env", {{"MODE", "b"}}}}}};
    spec["expect_diff"] = {"env.MODE", "run"};
    spec["applied"] = {{"B", {{"log_has", "level: 4"}, {"file_has", "made.txt: same"}}},
                       {"A", {{"log_lacks", "level: 4"}, {"counter_at_least", "level=3"}}}};
    spec["matrix"] = {{"size", {1, 2}}};
    spec["gates"] = {{{"id", "same"},
                      {"level", "correctness"},
                      {"role", "guard"},
                      {"at", {{"size", 1}}},
                      {"need",
                       {{"exit", 0},
                        {"stdout", "matches:cell 1"},
                        {"file", "made.txt"},
                        {"check", {"cmp", "-n", "7", "{out_a}", "{out_b}"}}}}},
                     {{"id", "one"},
                      {"level", "model"},
                      {"role", "decides"},
                      {"at", {{"size", 1}}},
                      {"metric", "peak_memory_bytes"},
                      {"goal", "equivalent"},
                      {"margin", "50%"}},
                     {{"id", "two"},
                      {"level", "model"},
                      {"role", "guard"},
                      {"at", {{"size", 2}}},
                      {"metric", "peak_memory_bytes"},
                      {"margin", "50%"}}};
    spec["schedule"] = {
        {"pairs", {{"max", 40}}}, {"aa_pairs", 2}, {"inner", 2}, {"warmup_runs", 0}};
    const CliResult done = cli.run({"run", cli.experiment("outside-parts", spec), "--json"});
    const nlohmann::json shown = done.json();
    EXPECT_EQ(shown.at("verdict"), "accept") << done.out << done.err;
    for (const nlohmann::json& gate : shown.at("gates")) {
        EXPECT_EQ(gate.at("outcome"), "pass") << gate;
        EXPECT_EQ(gate.at("effect").is_number(), gate.at("id") != "same") << gate;
    }
    // Each proof must be able to fail.
    spec["applied"]["B"]["log_has"] = "level: 5";
    const CliResult unproved = cli.run({"run", cli.experiment("outside-unproved", spec), "--json"});
    EXPECT_EQ(unproved.code, 12);
    EXPECT_EQ(unproved.json().at("reason"), "applied_evidence_missing");
    EXPECT_EQ(unproved.json().at("pairs"), 0);
}

// A job without a verdict is as undecided as one that says so.
TEST_F(Outside, AReportWithoutAVerdictIsNotGreen) {
    const std::string file = cli.experiment("waiting", small_experiment());
    ASSERT_EQ(cli.run({"submit", file}).code, 0);
    EXPECT_EQ(cli.run({"report", "waiting"}).code, 0);
    EXPECT_EQ(cli.run({"report", "waiting", "--exit-code"}).code, 11);
}

}  // namespace
}  // namespace steady
