// `steady track --repo` on a repository made here. The metric is counted work, so that levels are
// sure on a busy machine; a change is named only when detector, narrowing and direct A/B agree.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/git_fixture.h"
#include "tests/support/revision_question.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrackingRepository : public ::testing::Test {
protected:
    SteadyCli cli;
    GitFixture repository;
    std::vector<std::string> commits;

    void SetUp() override {
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/counter");
        write_question();
    }

    void write_question() {
        nlohmann::json question = counted_revisions("main", "HEAD~1", {"sh", "bench"});
        question["id"] = "work";
        repository.write("steady/work.json", question.dump(2));
    }

    // Half of the noise of a shared machine while `noisy` exists beside the repository.
    void commit(long work) {
        const std::string n = std::to_string(commits.size());
        repository.write(
            "bench",
            fmt::format("w={}\n"
                        "[ -e {} ] && n=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ') &&\n"
                        "w=$((w + w * (n % 2001 - 1000) / 100000))\n"
                        "echo '{{\"metric\": \"work_items\", \"value\": '$w', \"direction\": "
                        "\"lower\"}}'\n",
                        work, repository.beside("noisy")));
        repository.write("notes", n + "\n");
        commits.push_back(repository.commit("Change " + n));
    }

    CliResult track(std::vector<std::string> more = {}) {
        std::vector<std::string> words = {"track", "--repo", "counter", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }
};

TEST_F(TrackingRepository, EveryThirdCommitThenTheCulpritConfirmed) {
    for (int i = 0; i < 49; ++i) commit(i < 26 ? 100000 : 105000);
    const CliResult done = track({"--backfill", "49", "--every", "3"});
    ASSERT_EQ(done.code, 10) << done.out << done.err;
    const nlohmann::json result = done.json(), series = result.at("series").at(0);
    EXPECT_LE(result.at("measured").get<int>(), 17 + 2) << "every third, and two between";
    ASSERT_EQ(series.at("changes").size(), 1U) << done.out;
    const nlohmann::json change = series.at("changes").at(0);
    EXPECT_EQ(change.at("commit"), commits[26]);
    EXPECT_EQ(change.at("before"), commits[25]);
    EXPECT_EQ(change.at("confirmation"), "confirmed");
    EXPECT_EQ(change.at("cause"), "code");
    EXPECT_TRUE(change.at("cross_checked").get<bool>());
    EXPECT_NEAR(change.at("shift").get<double>(), 100. / 105 - 1, 1e-3);
    EXPECT_EQ(cli.run({"show", change.at("confirmed_by").get<std::string>()}).code, 0);

    const CliResult alerts = cli.run({"alerts", "list", "--json"});
    ASSERT_EQ(alerts.json().at("alerts").size(), 1U) << alerts.out << alerts.err;
    const nlohmann::json alert = alerts.json().at("alerts").at(0);
    EXPECT_EQ(alert.at("commit"), commits[26]);
    EXPECT_THAT(alert.at("again").get<std::string>(), HasSubstr("steady rerun "));
    EXPECT_EQ(cli.run({"alerts", "set", alert.at("id").dump(), "fixed", "--note", "n"}).code, 0);
    EXPECT_TRUE(
        cli.run({"alerts", "list", "--state", "new", "--json"}).json().at("alerts").empty());

    // Nothing new: what is stored stands, the reference is kept, nobody is told twice.
    const CliResult again = track({"--backfill", "49", "--every", "3"});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_EQ(again.json().at("measured"), 0);
    EXPECT_TRUE(again.json().at("series").at(0).at("changes").empty());
    EXPECT_EQ(again.json().at("series").at(0).at("all_changes").size(), 1U);
    commit(105000);
    const CliResult next = track();
    EXPECT_EQ(next.json().at("measured"), 1) << next.out << next.err;
    EXPECT_EQ(next.err.find("reference:"), std::string::npos) << next.err;
}

// Six points: too few for any detector of changes of level.
TEST_F(TrackingRepository, AChangeBetweenSparsePointsIsNarrowedAndConfirmed) {
    for (int i = 0; i < 40; ++i) commit(i < 19 ? 100000 : 103000);
    const CliResult done = track({"--backfill", "40", "--every", "8"});
    ASSERT_EQ(done.code, 10) << done.out << done.err;
    const nlohmann::json result = done.json(), series = result.at("series").at(0);
    EXPECT_LE(result.at("measured").get<int>(), 6 + 3) << "every eighth, and the middles between";
    ASSERT_EQ(series.at("changes").size(), 1U) << done.out;
    const nlohmann::json change = series.at("changes").at(0);
    EXPECT_EQ(change.at("commit"), commits[19]);
    EXPECT_EQ(change.at("before"), commits[18]);
    EXPECT_EQ(change.at("confirmation"), "confirmed");
    EXPECT_NEAR(series.at("level").get<double>(), 100. / 103, 1e-6);
    EXPECT_EQ(cli.run({"alerts", "list", "--json"}).json().at("alerts").size(), 1U);

    const CliResult again = track({"--backfill", "40", "--every", "8"});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_EQ(again.json().at("measured"), 0);
    EXPECT_EQ(again.json().at("series").at(0).at("all_changes").size(), 1U) << again.out;
    EXPECT_EQ(cli.run({"alerts", "list", "--json"}).json().at("alerts").size(), 1U);
}

TEST_F(TrackingRepository, ACommandNeedsNoFileAndBrokenCommitsAreTold) {
    fs::remove_all(repository.path() + "/steady");
    commit(1000);
    commit(1000);
    repository.write("bench", "exit 3\n");
    commits.push_back(repository.commit("Broken"));
    const CliResult done =
        track({"--backfill", "3", "--reference", commits[0], "--adapter", "lines", "--metric",
               "work_items", "--direction", "lower", "--pairs", "10", "--", "sh", "bench"});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("measured"), 2);
    EXPECT_EQ(done.json().at("failed"), 1);
    EXPECT_EQ(done.json().at("series").at(0).at("ratio"), 1.0);
}

TEST_F(TrackingRepository, BadInputIsSaid) {
    commit(1000);
    const auto said = [&](const std::vector<std::string>& words, const std::string& text) {
        const CliResult done = cli.run(words);
        EXPECT_EQ(done.code, 2) << done.err;
        EXPECT_THAT(done.err, HasSubstr(text));
    };
    said({"track", "--repo", "nosuch"}, "no registered program");
    said({"track", "--repo", "counter", "--branch", "nosuch"}, "nosuch");
    said({"track", "--repo", "counter", "--commit", "nosuch"}, "nosuch");
    said({"track", "--branch", "main"}, "--branch belongs to --repo NAME");
    said({"track", "--repo", "counter", "--suite", "nosuch"}, "holds no *.json");
    said({"track", "--repo", "counter", "--backfill", "2", "HEAD"}, "leave --commit out");
    said({"alerts", "set", "1", "odd"}, "allowed new, acknowledged, fixed, wrong");
    said({"alerts", "set", "1", "fixed"}, "no alert 1");
    said({"alerts", "send"}, "no channel is set");
    fs::remove_all(repository.path() + "/steady");
    said({"track", "--repo", "counter"}, "no question about counter");
}

// The long form: 60 commits with +2 %, -3 % and a reverted +4 %, half of the runs in a noisy hour.
TEST_F(TrackingRepository, ThreePlantedChangesAmongSixtyCommits) {
    const char* runs = std::getenv("STEADY_TRACKING_RUNS");
    if (runs == nullptr) GTEST_SKIP() << "long: set STEADY_TRACKING_RUNS";
    for (int i = 0; i < 60; ++i) {
        long work = i >= 13 ? 102000 : 100000;
        if (i >= 27) work = work * 97 / 100;
        if (i >= 38 && i < 49) work = work * 104 / 100;
        commit(work);
    }
    const CliResult done = track({"--backfill", "30"});
    std::ofstream(repository.beside("noisy")) << "";
    const CliResult rest = track({"--backfill", "60"});
    ASSERT_EQ(rest.code, 10) << done.err << rest.out << rest.err;
    std::vector<std::string> found;
    for (const auto& change : rest.json().at("series").at(0).at("all_changes")) {
        EXPECT_EQ(change.at("confirmation"), "confirmed") << change.dump();
        found.push_back(change.at("commit"));
    }
    EXPECT_EQ(found, (std::vector<std::string>{commits[13], commits[27], commits[38], commits[49]}))
        << rest.out;
}

}  // namespace
}  // namespace steady
