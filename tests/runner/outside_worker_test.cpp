// Programs of others in the queue: what a worker's owner registered runs confined, anything else
// does not start unless the worker was told to take commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/platform/files.h"
#include "runner/programs/confine/confine.h"
#include "tests/support/burn_program.h"
#include "tests/support/git_fixture.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class OutsideWorker : public ::testing::Test {
protected:
    void SetUp() override {
        if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
        repository.write("burn.c", burn_source(1000));
        slow = repository.commit("As it was");
        repository.write("burn.c", burn_source(500));
        fast = repository.commit("Less to do");
        repository.git({"checkout", "--quiet", "-b", "wip"});
        repository.write("burn.c", burn_source(400));
        unknown = repository.commit("Not reviewed");
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/parser");
    }

    void add_program() const {
        const Json file = {
            {"name", "parser"},
            {"repository", repository.path()},
            {"refs", {"main"}},
            {"build", Json::array({Json::array({"cc", "-O1", "-o", "burn", "burn.c"})})},
            {"run", Json::array({Json::array({"./burn", "{units}"})})},
            {"arguments", {{"units", {{"pattern", "[0-9]{1,5}"}, {"example", "10"}}}}}};
        std::ofstream(repository.beside("parser.json")) << file.dump();
        const CliResult added = cli.run({"program", "add", repository.beside("parser.json")});
        ASSERT_EQ(added.code, 0) << added.err;
    }

    Json question(const std::string& a, const std::string& b, const Words& run) const {
        return {
            {"owner", "test"},
            {"hypothesis",
             {{"claim", "B takes less time than A."}, {"because", "It has less to do."}}},
            {"subject", {{"program", "outside"}, {"name", "parser"}, {"repo", "parser"}}},
            {"arms", {{"A", {{"rev", a}, {"run", run}}}, {"B", {{"rev", b}, {"run", run}}}}},
            {"expect_diff", {"rev"}},
            {"gates", Json::array({{{"id", "output"},
                                    {"level", "correctness"},
                                    {"role", "guard"},
                                    {"need", {{"exit", 0}, {"stdout", "equal"}}}},
                                   {{"id", "speed"},
                                    {"level", "model"},
                                    {"role", "decides"},
                                    {"metric", "cpu_seconds"}}})},
            {"schedule", {{"mode", "process_pairs"}, {"pairs", {{"max", 10}}}, {"aa_pairs", 2}}}};
    }

    std::string submit(const std::string& id, const Json& spec, Words more = {}) const {
        Words words = {"submit", cli.experiment(id, spec), "--json"};
        words.insert(words.end(), more.begin(), more.end());
        const CliResult done = cli.run(words);
        EXPECT_EQ(done.code, 0) << done.err;
        return done.json().value("id", "");
    }

    std::size_t queued() const { return cli.run({"queue", "--json"}).json().at("jobs").size(); }

    SteadyCli cli;
    GitFixture repository;
    std::string slow, fast, unknown;
};

TEST_F(OutsideWorker, RunsWhatIsRegisteredConfined) {
    add_program();
    const std::string id = submit("registered", question(slow, fast, {"./burn", "4000"}));
    const CliResult worked = cli.work(id);
    ASSERT_EQ(worked.code, 0) << worked.err;
    EXPECT_EQ(queued(), 0U);
    const CliResult shown = cli.run({"show", id, "--json"});
    EXPECT_EQ(shown.json().at("verdict"), "accept") << shown.out << worked.err;
    const std::string entry =
        read_file((cli.root() / shown.json().at("journal").get<std::string>()).string());
    EXPECT_THAT(entry, HasSubstr("yes, without a network"));
    EXPECT_THAT(entry, HasSubstr("| A: limits | "));
}

TEST_F(OutsideWorker, LeavesUnregisteredProgramsAlone) {
    submit("unregistered", question(slow, fast, {"./burn", "4000"}));
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    EXPECT_EQ(queued(), 1U);
}

TEST_F(OutsideWorker, RefusesWhatTheRegistrationDoesNotAllow) {
    add_program();
    const std::string command =
        submit("other-command", question(slow, fast, {"/bin/sh", "-c", "x"}));
    const std::string branch = submit("other-branch", question(slow, unknown, {"./burn", "5"}));
    Json changed = question(slow, fast, {"./burn", "5"});
    changed["arms"]["B"]["env"] = {{"PARSER_MODE", "fast"}};
    changed["expect_diff"] = {"env.PARSER_MODE", "rev"};
    const std::string variable = submit("other-variable", changed);
    for (const std::string& id : {command, branch, variable}) EXPECT_EQ(cli.work(id).code, 0);
    EXPECT_THAT(cli.run({"watch", command}).err, HasSubstr("matches no registered one"));
    EXPECT_THAT(cli.run({"watch", branch}).err, HasSubstr("in no allowed branch or tag"));
    EXPECT_THAT(cli.run({"watch", variable}).err, HasSubstr("may not be set"));
}

TEST_F(OutsideWorker, TakesAnyCommandOnlyWhenStartedForIt) {
    Json spec = question(slow, fast, {"./burn", "4000"});
    spec["subject"]["build"] = Json::array({Json::array({"cc", "-O1", "-o", "burn", "burn.c"})});
    const std::string id = submit("free-command", spec, {"--commands"});
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    EXPECT_EQ(queued(), 1U);
    const CliResult worked = cli.work(id, {"--commands"});
    EXPECT_EQ(worked.code, 0) << worked.err;
    EXPECT_EQ(cli.run({"show", id, "--json"}).json().at("verdict"), "accept") << worked.err;
}

// Ten pairs of it take six seconds at least, so the cap ends the job before its verdict.
TEST_F(OutsideWorker, AJobThatTakesTooLongIsEndedWithItsProgram) {
    const Words asleep = {"/bin/sleep", "0.3017"};
    const std::string id = submit("endless", question(slow, fast, asleep), {"--commands"});
    const CliResult worked = cli.work(id, {"--commands", "--max-hours", "0.0006"});
    EXPECT_THAT(worked.err, HasSubstr("ran longer than the 0.0006 hours"));
    EXPECT_EQ(worked.code, 0) << "the worker goes on: " << worked.err;
    const Json shown = cli.run({"show", id, "--json"}).json();
    EXPECT_EQ(shown.at("state"), "failed") << shown;
    EXPECT_THAT(shown.dump(), HasSubstr("steady requeue"));
    for (const auto& entry : fs::directory_iterator("/proc")) {
        EXPECT_THAT(read_line_or_empty((entry.path() / "cmdline").string()),
                    ::testing::Not(HasSubstr("0.3017")));
    }
    EXPECT_EQ(cli.run({"requeue", id}).code, 0);
    EXPECT_EQ(queued(), 1U);
    for (const char* wrong : {"-1", "x", "nan", "1e9"}) {
        EXPECT_EQ(cli.run({"worker", "--once", "--max-hours", wrong}).code, 2) << wrong;
    }
}

TEST_F(OutsideWorker, TheRightTagsCannotBeClaimedByHand) {
    const std::string file = cli.experiment("tagged", question(slow, fast, {"./burn", "5"}));
    for (const char* tag : {"commands", "program:parser", "caller"}) {
        EXPECT_EQ(cli.run({"submit", file, "--tags", tag}).code, 2) << tag;
        EXPECT_EQ(cli.run({"worker", "--once", "--tags", tag}).code, 2) << tag;
    }
}

TEST_F(OutsideWorker, WhatAWorkerCannotSeeIsRefusedAtSubmit) {
    Json here = question(slow, ".", {"./burn", "5"});
    Json file = question(slow, fast, {"./burn", "5"});
    file["gates"][0]["need"]["file"] = "out";
    Json nameless = question(slow, fast, {"./burn", "5"});
    nameless["subject"].erase("name");
    int n = 0;
    for (const Json& spec : {here, file, nameless}) {
        const CliResult done =
            cli.run({"submit", cli.experiment("refused-" + std::to_string(++n), spec)});
        EXPECT_EQ(done.code, 2) << done.out;
    }
    EXPECT_EQ(queued(), 0U);
}

}  // namespace
}  // namespace steady
