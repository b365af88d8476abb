// One question and its runs, through the real program: a file that was decided is not measured
// again without --again, records of other machines lie beside it, and every view shows them all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/counted_program.h"
#include "tests/support/other_machine.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunsVerbs : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string path = write("work", "#!/bin/sh\n" + counted_program());
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    // Decided for the first time, by counted work, so that no machine's noise changes the verdict.
    nlohmann::json ask(const std::string& steps_of_b = "4000", int code = 10) {
        return run({"ab", "./work 2000", "./work " + steps_of_b, "--any-output", "--adapter",
                    "lines", "--metric", "steps", "--direction", "lower", "--seed", "3"},
                   code);
    }
    nlohmann::json run(std::vector<std::string> words, int code = 0) {
        words.push_back("--json");
        const CliResult result = cli.run(words);
        EXPECT_TRUE(code < 0 || result.code == code)
            << words[0] << ": " << result.code << result.out << result.err;
        return result.json();
    }
    nlohmann::json measure(const std::string& file, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = {"run", file};
        words.insert(words.end(), more.begin(), more.end());
        return run(words, -1);
    }
    static std::string text_of(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = cli.root() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }

    SteadyCli cli;
};

TEST_F(RunsVerbs, AFileThatWasDecidedHereIsMeasuredAgainOnlyWhenAsked) {
    const nlohmann::json first = ask();
    const std::string id = first.at("id"), file = first.at("file");
    const CliResult shown = cli.run({"run", file});
    EXPECT_THAT(shown.out, HasSubstr("--again` makes a further run"));
    const nlohmann::json second = measure(file);
    EXPECT_EQ(second.at("id"), id);
    EXPECT_EQ(second.at("measured_now"), false);
    EXPECT_THAT(cli.run({"submit", file, "--commands"}).out, HasSubstr("submit FILE --again"));

    const nlohmann::json again = measure(file, {"--again"});
    EXPECT_EQ(again.at("id"), id + "-2");
    EXPECT_NE(again.at("run"), first.at("run"));
    EXPECT_NE(again.at("seed"), first.at("seed")) << "coins of its own";
    EXPECT_EQ(run({"show", id}).at("run"), first.at("run")) << "the first is still there";
    const nlohmann::json runs = run({"show", id}).at("runs");
    EXPECT_EQ(runs.at("count"), 2);
    EXPECT_EQ(measure(file).at("id"), id + "-2") << "the newest answers";

    const nlohmann::json queued = run({"submit", file, "--commands", "--again"});
    EXPECT_EQ(queued.at("id"), id + "-3");
    EXPECT_EQ(queued.at("created"), true);
    EXPECT_EQ(run({"submit", file, "--commands", "--again"}).at("created"), false) << "queued once";
    run({"cancel", id + "-3"});

    std::ofstream(cli.root() / "work", std::ios::app | std::ios::binary) << "# rebuilt\n";
    const CliResult rebuilt = cli.run({"run", file, "--json"});
    EXPECT_THAT(rebuilt.err, HasSubstr("measured with another program_a"));
    EXPECT_EQ(rebuilt.json().at("measured_now"), true) << "another program is another answer";
}

struct DecidedRuns : RunsVerbs, ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(BothVerdicts, DecidedRuns, ::testing::Values("accept", "reject"));

TEST_P(DecidedRuns, RecordsOfOtherMachinesLieBesideTheOwnAndEveryViewShowsThem) {
    const bool accepted = GetParam() == std::string("accept");
    const nlohmann::json own = accepted ? ask("1000", 0) : ask();
    const std::string id = own.at("id");
    const std::string mine = (cli.root() / "mine.json").string();
    run({"export", id, mine});
    const std::string there =
        write("records/there.steady.json",
              on_other_machine(text_of(mine), {.verdict = accepted ? "reject" : "accept"}));
    write("records/torn.steady.json", text_of(mine).substr(0, 5000));
    write("records/zz-mine.steady.json", text_of(mine));
    const CliResult imported = cli.run({"import", (cli.root() / "records").string(), "--json"});
    EXPECT_EQ(imported.code, 2) << "one file is torn";
    EXPECT_THAT(imported.err, HasSubstr("torn.steady.json"));
    const nlohmann::json told = imported.json();
    ASSERT_EQ(told.at("imported").size(), 2U) << "and the others are in";
    ASSERT_EQ(told.at("refused").size(), 1U);
    EXPECT_EQ(told.at("imported").at(0).at("published"), id);
    EXPECT_EQ(told.at("imported").at(0).at("created"), true);
    EXPECT_EQ(told.at("imported").at(1).at("created"), false) << "this very run";
    const std::string handle = told.at("imported").at(0).at("id");
    EXPECT_EQ(handle,
              id + "-r" + told.at("imported").at(0).at("run").get<std::string>().substr(0, 8));

    for (const std::string& one : {id, handle}) {
        const nlohmann::json runs = run({"journal", one}).at("runs");
        ASSERT_EQ(runs.at("count"), 2);
        EXPECT_EQ(runs.at("runs").at(1).at("cpu_class"), OtherMachine{}.cpu_class);
        EXPECT_EQ(runs.at("agreement"), "differs_by_class");
        EXPECT_THAT(cli.run({"journal", one}).out, HasSubstr("## Runs of this question"));
        EXPECT_THAT(cli.run({"show", one}).out, HasSubstr("runs of this question"));
    }
    const nlohmann::json tried = run({"tried", id}).at("attempts");
    ASSERT_EQ(tried.size(), 1U) << "one row per question";
    EXPECT_EQ(tried.at(0).at("runs").at("count"), 2);
    EXPECT_THAT(cli.run({"tried", id}).out, HasSubstr("2 runs: "));

    // Neither run's entry is published, so neither file lists the other's.
    EXPECT_THAT(text_of(cli.root() / own.at("journal").get<std::string>()),
                Not(HasSubstr("Runs of this question")));
    const nlohmann::json journal = run({"journal", "--check"});
    EXPECT_EQ(journal.at("checked"), 1) << "the other run's file, of the same day, is not here";
    EXPECT_THAT(told.at("imported").at(0).at("entry").get<std::string>(),
                HasSubstr("the entry of another run and was left alone"));
    EXPECT_THAT(cli.run({"journal", handle, "--write"}).err, HasSubstr("another run"));
    std::filesystem::create_directories(cli.root() / "experiments/records");
    std::filesystem::copy(there, cli.root() / "experiments/records/there.steady.json");
    EXPECT_EQ(cli.run({"journal", "--check"}).code, 1) << "now the own entry must name it";
    run({"journal", id, "--write"});
    EXPECT_THAT(text_of(cli.root() / own.at("journal").get<std::string>()),
                HasSubstr("Runs of this question"));
    run({"journal", "--check"});
    EXPECT_EQ(run({"import", "--shipped"}).at("imported").at(0).at("created"), false);

    // Both are published under one name: each gets an entry, the later with its run in the name.
    std::filesystem::copy(mine, cli.root() / "experiments/records/mine.steady.json");
    run({"journal", handle, "--write"});
    run({"journal", id, "--write"});
    const std::string entry = own.at("journal");
    const std::string other = entry.substr(0, entry.size() - 3) + handle.substr(id.size()) + ".md";
    EXPECT_THAT(text_of(cli.root() / other), HasSubstr("id: \"" + handle + "\""));
    const auto link_to = [](const std::string& file) {
        return "(" + std::filesystem::path(file).filename().string() + ")";
    };
    EXPECT_THAT(text_of(cli.root() / entry), HasSubstr(link_to(other)));
    EXPECT_THAT(text_of(cli.root() / other), HasSubstr(link_to(entry)));
    // So they have in every database that holds them.
    SteadyCli fresh;
    std::filesystem::copy(cli.root(), fresh.root(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(fresh.run({"import", "--shipped"}).code, 0);
    for (const SteadyCli* one : {&cli, &fresh}) {
        const nlohmann::json both = one->run({"journal", "--check", "--json"}).json();
        EXPECT_EQ(both.at("checked"), 2);
        for (const nlohmann::json& problem : both.at("problems")) {
            EXPECT_THAT(problem.at("difference"), HasSubstr("the verdict is not"))
                << "made for the test";
        }
    }
    EXPECT_EQ(cli.run({"import"}).code, 2);
}

}  // namespace
}  // namespace steady
