// `steady bisect` on repositories made here. The metric is counted work, so that every verdict is
// sure; a commit is named only when the search, its proof and its confirmation agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "runner/platform/files.h"
#include "tests/support/git_fixture.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class BisectSearch : public ::testing::Test {
protected:
    SteadyCli cli;
    GitFixture repository;
    std::vector<std::string> commits;  // commits[0] is the first GOOD

    void SetUp() override {
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/counter");
        file = cli.experiment("count", question());
    }

    std::string host_lock() const { return (cli.state() / "host.lock").string(); }

    static nlohmann::json question() {
        return {{"owner", "test"},
                {"hypothesis",
                 {{"claim", "The newer revision does less work"},
                  {"because", "somebody looked at the figures"}}},
                {"subject",
                 {{"program", "outside"},
                  {"name", "counter"},
                  {"repo", "counter"},
                  {"build", {{"test", "-e", "{src}/bench"}}}}},
                {"arms",
                 {{"A", {{"rev", "main"}, {"run", {"sh", "bench"}}}},
                  {"B", {{"rev", "HEAD~1"}, {"run", {"sh", "bench"}}}}}},
                {"expect_diff", {"rev"}},
                {"gates",
                 {{{"id", "output"},
                   {"level", "correctness"},
                   {"role", "guard"},
                   {"need", {{"stdout", "matches:sum: right"}}}},
                  {{"id", "work"},
                   {"level", "model"},
                   {"role", "decides"},
                   {"adapter", "lines"},
                   {"metric", "work_items"},
                   {"direction", "lower"},
                   {"worth", "1%"}}}},
                {"schedule", {{"pairs", {{"max", 30}}}, {"aa_pairs", 2}, {"warmup_runs", 0}}}};
    }

    // A program that does so much work, in files that are never the same twice.
    void commit(int work, const std::string& says = "right") {
        const std::string n = std::to_string(commits.size());
        repository.write("bench", pause + "\necho 'sum: " + says +
                                      "'\necho '{\"metric\": \"work_items\", \"value\": " +
                                      std::to_string(work) + ", \"direction\": \"lower\"}'\n");
        repository.write("notes", n + "\n");
        commits.push_back(repository.commit("Change " + n));
    }
    void commit_without_program() {
        fs::remove(repository.path() + "/bench");
        commits.push_back(repository.commit("Change " + std::to_string(commits.size())));
    }
    // n commits after GOOD; from the given one on, each does 10 % more work.
    void line(std::size_t n, std::size_t culprit) {
        for (std::size_t i = 0; i <= n; ++i) commit(i < culprit ? 1000 : 1100);
    }

    CliResult bisect(const std::string& good, const std::string& bad,
                     std::vector<std::string> more = {}) {
        std::vector<std::string> words = {"bisect", good, bad, file, "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }
    CliResult bisect() { return bisect(commits.front(), commits.back()); }

    // Attempts of builds, also failed ones: the cache keeps a log of each.
    std::size_t builds() const {
        const auto logs = cli.state() / "builds/logs";
        if (!fs::exists(logs)) return 0;
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(logs), fs::directory_iterator()));
    }
    std::size_t counted(const std::string& what) const {
        const CliResult done =
            cli.run({"db", "psql", "--", "-Atc", "select count(*) from " + what});
        return done.out.empty() ? 0 : std::stoul(done.out);
    }
    std::size_t experiments() const { return counted("steady.attempt"); }
    std::size_t done_jobs() const { return counted("steady.job where state = 'done'"); }

    static std::string class_of(const nlohmann::json& result, const std::string& sha) {
        for (const auto& step : result.at("steps")) {
            if (step.at("commit") == sha && step.at("kind") != "ends") {
                return step.at("class").get<std::string>();
            }
        }
        return "not tested";
    }

    std::string file, pause;
};

TEST_F(BisectSearch, TheCulpritIsFoundConfirmedAndWrittenDown) {
    line(12, 8);
    const CliResult done = bisect();
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const nlohmann::json result = done.json();
    EXPECT_EQ(result.at("outcome"), "found");
    EXPECT_EQ(result.at("culprit").at("commit"), commits[8]);
    EXPECT_EQ(result.at("culprit").at("subject"), "Change 8");
    EXPECT_EQ(result.at("direction"), "worse");
    EXPECT_EQ(result.at("commits"), 12);
    EXPECT_LE(result.at("tested").get<int>(), 4) << "ceil(log2 12)";
    EXPECT_LE(builds(), 2U + 4U);
    EXPECT_EQ(result.at("steps").front().at("kind"), "ends");
    const auto& last = result.at("steps").back();
    EXPECT_EQ(last.at("kind"), "parent");
    EXPECT_EQ(last.at("against"), commits[7]);
    EXPECT_NEAR(last.at("effect").get<double>(), 1000. / 1100 - 1, 1e-6);
    const std::string entry =
        read_file((cli.root() / result.at("journal").get<std::string>()).string());
    for (const std::string& word :
         {commits[8].substr(0, 12), std::string("Change 8"), commits.front().substr(0, 12),
          result.at("steps").front().at("record").get<std::string>(), std::string("bad side"),
          std::string("good side"), std::string("confirmed"), std::string("## Notes")}) {
        EXPECT_THAT(entry, HasSubstr(word));
    }
    EXPECT_EQ(cli.run({"show", last.at("record").get<std::string>()}).code, 0);
    const CliResult check = cli.run({"journal", "--check", "--json"});
    EXPECT_EQ(check.code, 0) << check.out;
    EXPECT_TRUE(check.json().at("without_record").empty()) << check.out;
}

TEST_F(BisectSearch, FirstAndLastCommitAreFound) {
    line(6, 1);
    const CliResult first = bisect();
    EXPECT_EQ(first.code, 0) << first.out << first.err;
    EXPECT_EQ(first.json().at("culprit").at("commit"), commits[1]);
    commit(1300);
    const CliResult last = bisect(commits[1], commits.back());
    EXPECT_EQ(last.code, 0) << last.out << last.err;
    EXPECT_EQ(last.json().at("culprit").at("commit"), commits.back());
    const CliResult only = bisect(commits[6], commits[7]);
    EXPECT_EQ(only.code, 0) << only.out << only.err;
    EXPECT_EQ(only.json().at("tested"), 0);
}

TEST_F(BisectSearch, ACommitThatMadeThingsBetterIsFoundToo) {
    for (const int work : {1000, 1000, 1000, 800, 800}) commit(work);
    const CliResult done = bisect();
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("direction"), "better");
    EXPECT_EQ(done.json().at("culprit").at("commit"), commits[3]);
    EXPECT_NEAR(done.json().at("steps").back().at("effect").get<double>(), 0.25, 1e-6);
}

TEST_F(BisectSearch, ACommandNeedsNoFile) {
    line(5, 3);
    const CliResult done = cli.run({"bisect", commits.front(), commits.back(), "--repo", "counter",
                                    "--adapter", "lines", "--metric", "work_items", "--direction",
                                    "lower", "--pairs", "30", "--json", "--", "sh", "bench"});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("culprit").at("commit"), commits[3]);
    const std::string written = done.json().at("file").get<std::string>();
    EXPECT_TRUE(fs::exists(cli.root() / "experiments" / (written + ".json"))) << written;
}

TEST_F(BisectSearch, EqualEndsEndTheSearch) {
    for (const int work : {1000, 1200, 1000}) commit(work);
    const CliResult done = bisect();
    EXPECT_EQ(done.code, 10) << done.out << done.err;
    EXPECT_EQ(done.json().at("outcome"), "ends_alike");
    EXPECT_THAT(done.json().at("sentence").get<std::string>(), HasSubstr("ends do not differ"));
    EXPECT_TRUE(done.json().at("culprit").is_null());
    EXPECT_EQ(builds(), 2U);
    EXPECT_THAT(read_file((cli.root() / done.json().at("journal").get<std::string>()).string()),
                HasSubstr("ends do not differ"));
}

TEST_F(BisectSearch, ACommitThatCannotBeTestedIsSkipped) {
    for (const int work : {1000, 1000, 1000}) commit(work);
    commit_without_program();  // 3
    commit(1000, "wrong");     // 4
    for (const int work : {1000, 1100, 1100, 1100}) commit(work);
    const CliResult done = bisect();
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("culprit").at("commit"), commits[6]);
    EXPECT_EQ(class_of(done.json(), commits[4]), "skipped") << done.out;
}

TEST_F(BisectSearch, WhereOnlySkippedCommitsRemainTheRangeIsReported) {
    for (const int work : {1000, 1000}) commit(work);
    commit_without_program();
    commit(1100, "wrong");
    for (const int work : {1100, 1100}) commit(work);
    const CliResult done = bisect();
    EXPECT_EQ(done.code, 11) << done.out << done.err;
    const nlohmann::json result = done.json();
    EXPECT_EQ(result.at("outcome"), "range");
    EXPECT_TRUE(result.at("culprit").is_null());
    std::vector<std::string> suspects;
    for (const auto& one : result.at("suspects")) suspects.push_back(one.at("commit"));
    EXPECT_EQ(suspects, std::vector<std::string>(commits.begin() + 2, commits.begin() + 5));
    EXPECT_THAT(read_file((cli.root() / result.at("journal").get<std::string>()).string()),
                HasSubstr("could not be tested"));
}

// One commit's runs swing around the middle between both ends by factors of two to four, so no
// small number of pairs decides.
TEST_F(BisectSearch, AnUndecidedCommitIsNamedAndNotGuessed) {
    nlohmann::json few = question();
    few["schedule"]["pairs"] = {{"max", 12}};
    file = cli.experiment("few", few);
    for (const int work : {1000, 1000}) commit(work);
    const std::string turns = repository.beside("turns");
    repository.write("bench",
                     fmt::format("echo 'sum: right'\necho >> {0}\n"
                                 "set -- 4196 349 2098 262 3147 524\n"
                                 "shift $(($(wc -l < {0}) % 6))\n"
                                 "echo '{{\"metric\": \"work_items\", \"value\": '$1'}}'\n",
                                 turns));
    commits.push_back(repository.commit("Restless"));
    for (const int work : {1100, 1100}) commit(work);
    const CliResult done = bisect();
    const nlohmann::json result = done.json();
    std::vector<std::string> kinds, classes, suspects;
    for (const auto& step : result.at("steps")) {
        if (step.at("commit") != commits[2] || step.at("kind") == "parent") continue;
        kinds.push_back(step.at("kind"));
        classes.push_back(step.at("class"));
    }
    // Tries that are discarded on a busy machine shift the turns: then chance may decide after all.
    if (!classes.empty() && classes.back() != "open") GTEST_SKIP() << done.out;
    EXPECT_EQ(done.code, 11) << done.out << done.err;
    EXPECT_EQ(result.at("outcome"), "range");
    EXPECT_EQ(kinds, (std::vector<std::string>{"good", "bad"})) << "asked against both ends";
    for (const auto& one : result.at("suspects")) suspects.push_back(one.at("commit"));
    EXPECT_EQ(suspects, (std::vector<std::string>{commits[2], commits[3]}));
    EXPECT_THAT(read_file((cli.root() / result.at("journal").get<std::string>()).string()),
                HasSubstr("Restless: undecided"));
}

// Many small steps: the file asks for more than 1 %, and no single commit did that.
TEST_F(BisectSearch, ASuspectThatItsParentDoesNotConfirmIsNoCulprit) {
    nlohmann::json large = question();
    large["gates"][1]["floor"] = "1%";
    file = cli.experiment("large", large);
    for (int i = 0; i < 12; ++i) commit(1000 + 6 * i);
    const CliResult done = bisect();
    EXPECT_EQ(done.code, 11) << done.out << done.err;
    EXPECT_EQ(done.json().at("outcome"), "not_confirmed");
    EXPECT_TRUE(done.json().at("culprit").is_null());
    EXPECT_EQ(done.json().at("steps").back().at("kind"), "parent");
}

TEST_F(BisectSearch, AMergeIsSearchedInsideWhereAsked) {
    for (const int work : {1000, 1000}) commit(work);
    repository.git({"checkout", "--quiet", "-b", "side"});
    repository.write("side", "1\n");
    const std::string fine = repository.commit("Fine");
    repository.git({"checkout", "--quiet", "main"});
    commit(1000);
    repository.git({"checkout", "--quiet", "side"});
    repository.write("bench", read_file(repository.path() + "/bench") + "# on the side\n");
    std::string text = read_file(repository.path() + "/bench");
    text.replace(text.find("1000"), 4, "1100");
    repository.write("bench", text);
    const std::string culprit = repository.commit("More work");
    repository.git({"checkout", "--quiet", "main"});
    repository.git({"merge", "--quiet", "--no-ff", "--message", "Merge", "side"});
    const std::string merge = repository.git({"rev-parse", "HEAD"});
    commits.push_back(merge);
    const CliResult first = bisect(commits.front(), merge);
    ASSERT_EQ(first.code, 0) << first.out << first.err;
    EXPECT_EQ(first.json().at("culprit").at("commit"), merge);
    const CliResult all = bisect(commits.front(), merge, {"--ancestry-path"});
    ASSERT_EQ(all.code, 0) << all.out << all.err;
    EXPECT_EQ(all.json().at("culprit").at("commit"), culprit);
    const CliResult aside = bisect(fine, merge);
    EXPECT_EQ(aside.code, 2);
    EXPECT_THAT(aside.err, HasSubstr("--ancestry-path"));
}

TEST_F(BisectSearch, EqualFilesAreNotMeasuredTwice) {
    commit(1000);
    for (const int work : {1000, 1100}) {
        commit(work);
        repository.git({"commit", "--allow-empty", "--quiet", "--message", "Nothing changed"});
        commits.push_back(repository.git({"rev-parse", "HEAD"}));
    }
    const CliResult done = bisect();
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("culprit").at("commit"), commits[3]);
    const nlohmann::json result = done.json();
    int same = 0;
    for (const auto& step : result.at("steps")) {
        if (step.at("kind") != "files") continue;
        EXPECT_EQ(step.at("record"), "") << "an experiment";
        ++same;
    }
    EXPECT_EQ(same, 1) << done.out;
    EXPECT_LE(builds(), 3U);
}

TEST_F(BisectSearch, AKilledSearchGoesOnAndMeasuresNothingTwice) {
    pause = "sleep 0.02";  // the kill must meet the search in the middle of a step
    line(6, 4);
    for (const std::size_t until : {1U, 2U}) {
        const pid_t child = cli.start({"bisect", commits.front(), commits.back(), file});
        while (done_jobs() < until) {
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended before it was killed";
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        ::kill(-child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
    }
    const CliResult done = bisect();
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("culprit").at("commit"), commits[4]);
    const std::size_t steps = done.json().at("steps").size();
    EXPECT_EQ(done_jobs(), steps) << "a finished step was measured again";
    const std::size_t attempts = experiments();
    EXPECT_LE(attempts, steps + 2) << "only the two steps that were killed were taken up again";
    const CliResult again = bisect();
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(again.out, done.out);
    EXPECT_EQ(experiments(), attempts);
    const CliResult anew = bisect(commits.front(), commits.back(), {"--attempt", "2"});
    EXPECT_EQ(anew.code, 0) << anew.out << anew.err;
    EXPECT_EQ(done_jobs(), 2 * steps);
}

TEST_F(BisectSearch, AWrongCallIsRefusedBeforeAnythingIsMeasured) {
    line(3, 2);
    const auto refused = [&](const std::string& good, const std::string& bad) {
        const CliResult done = bisect(good, bad);
        EXPECT_EQ(done.code, 2) << done.out;
        return done.err;
    };
    EXPECT_THAT(refused(commits[3], commits[0]), HasSubstr("older revision first"));
    EXPECT_THAT(refused(commits[1], commits[1]), HasSubstr("one commit"));
    EXPECT_THAT(refused("no-such", commits[1]), HasSubstr("no-such"));
    EXPECT_THAT(refused(commits[1], "."), HasSubstr("files as they are"));
    const CliResult both = bisect(commits[0], commits[3], {"--pairs", "20"});
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.err, HasSubstr("--pairs stands for a field of FILE"));
    EXPECT_EQ(cli.run({"bisect", commits[0], commits[3]}).code, 2);
    nlohmann::json other = question();
    other["arms"]["B"]["args"] = {"x"};
    other["expect_diff"] = {"args", "rev"};
    file = cli.experiment("two", other);
    EXPECT_THAT(refused(commits[0], commits[3]), HasSubstr("nothing but rev"));
    EXPECT_EQ(experiments(), 0U);
}

// `git bisect run` itself, with commits to skip: one does not build, one prints something wrong.
class GitBisectRun : public BisectSearch {
protected:
    // What git said; the program's words come after `ab` and its revisions.
    std::string git_bisect(const std::vector<std::string>& words) {
        repository.git({"bisect", "start", commits.back(), commits.front()});
        ChildOptions options;
        options.argv = {"/usr/bin/git",
                        "bisect",
                        "run",
                        "/usr/bin/env",
                        "PATH=/usr/bin:/bin",
                        "STEADY_ROOT=" + cli.root().string(),
                        "STEADY_STATE_DIR=" + cli.state().string(),
                        "STEADY_HOST_LOCK=" + host_lock(),
                        STEADY_BIN_DIR "/steady"};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        options.directory = repository.path();
        options.env = {{"GIT_CONFIG_GLOBAL", "/dev/null"}};
        const ChildEnd end = run_child(options, 600);
        code = end.code;
        return end.out + end.err;
    }
    std::vector<std::string> ab(const std::string& baseline) const {
        return {"ab",
                "--rev",
                baseline,
                "--rev",
                ".",
                "--build",
                "cc -c -o program.o program.c",
                "--adapter",
                "lines",
                "--metric",
                "work_items",
                "--direction",
                "lower",
                "--pairs",
                "30",
                "--quiet",
                "--exit-map",
                "bisect",
                "--",
                "sh",
                "bench"};
    }
    void commit_of(const std::string& program, int work) {
        repository.write("program.c", program);
        commit(work);
    }
    int code = -1;
};

TEST_F(GitBisectRun, TheCulpritIsNamedByGit) {
    const std::string right = "int right;\n", wrong = "no program\n";
    commit_of(right, 1000);
    commit_of(right, 1000);
    commit_of(right, 900);  // better is as good as good
    commit_of(wrong, 1000);
    commit_of(right, 1000);
    commit_of(right, 1100);
    commit_of(right, 1100);
    const std::string said = git_bisect(ab(commits.front()));
    EXPECT_EQ(code, 0) << said;
    EXPECT_THAT(said, HasSubstr(commits[5] + " is the first bad commit"));
}

TEST_F(GitBisectRun, GitStopsWhenNoCommitCanBeJudged) {
    commit_of("no program\n", 1000);
    for (const int work : {1000, 1000, 1100, 1100}) commit_of("int right;\n", work);
    const std::string broken = git_bisect(ab(commits.front()));
    EXPECT_EQ(code, 128) << broken;
    EXPECT_THAT(broken, HasSubstr("git bisect stops"));
    EXPECT_THAT(broken, Not(HasSubstr("is the first bad commit")));
    repository.git({"bisect", "reset"});
    const std::string unknown = git_bisect(ab("no-such-revision"));
    EXPECT_EQ(code, 128) << unknown;
    repository.git({"bisect", "reset"});
    const std::string misspelt = git_bisect({"abc", "--exit-map", "bisect"});
    EXPECT_EQ(code, 128) << misspelt;
}

TEST_F(GitBisectRun, TheReportOfARecordHasTheSameCodes) {
    line(1, 1);
    const auto asked = [&](const std::string& a, const std::string& b) {
        std::vector<std::string> words = {"ab",
                                          "--rev",
                                          a,
                                          "--rev",
                                          b,
                                          "--repo",
                                          "counter",
                                          "--adapter",
                                          "lines",
                                          "--metric",
                                          "work_items",
                                          "--direction",
                                          "lower",
                                          "--pairs",
                                          "30",
                                          "--json",
                                          "--quiet",
                                          "--exit-map",
                                          "bisect",
                                          "--",
                                          "sh",
                                          "bench"};
        const CliResult done = cli.run(words);
        const std::string id = done.json().at("id").get<std::string>();
        const auto report = [&](std::vector<std::string> more) {
            more.insert(more.begin(), {"report", id, "--exit-code"});
            return cli.run(more).code;
        };
        return std::vector<int>{done.code, report({"--exit-map", "bisect"}), report({})};
    };
    EXPECT_EQ(asked(commits[0], commits[1]), (std::vector<int>{1, 1, 10}));
    EXPECT_EQ(asked(commits[0], "HEAD~1"), (std::vector<int>{125, 125, 12})) << "one commit";
    repository.write("notes", "other\n");
    const std::string same = repository.commit("As it was");
    EXPECT_EQ(asked(commits[1], same), (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace steady
