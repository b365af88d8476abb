// A search for a commit that the page asked for: a worker with the right runs it as jobs of the
// queue. The metric is counted work, so that the culprit is sure on a busy machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/programs/confine/confine.h"
#include "runner/storage/bisection_store.h"
#include "runner/storage/connection.h"
#include "tests/support/git_fixture.h"
#include "tests/support/revision_question.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class PageSearch : public ::testing::Test {
protected:
    void SetUp() override {
        if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
        for (int i = 0; i < 6; ++i) {
            repository.write(
                "bench",
                fmt::format("echo '{{\"metric\": \"work_items\", \"value\": {}, \"direction\": "
                            "\"lower\"}}'\n",
                            i < 3 ? 100000 : 104000));
            repository.write("notes", std::to_string(i) + "\n");
            commits.push_back(repository.commit(fmt::format("Change {}", i)));
        }
        fs::create_directories(cli.state() / "sources");
        fs::create_directory_symlink(repository.path(), cli.state() / "sources/counter");
        const Json question = counted_revisions(commits.front(), commits.back(), {"sh", "built"});
        const CliResult done = cli.run({"submit", cli.experiment("work", question), "--json"});
        ASSERT_EQ(done.code, 0) << done.err;
        experiment = done.json().at("id");
        url = cli.run({"db", "url"}).out;
        url.erase(url.find_last_not_of('\n') + 1);
    }

    void add_program() const {
        const Json file = {{"name", "counter"},
                           {"repository", repository.path()},
                           {"refs", {"main"}},
                           {"build", Json::array({Json::array({"cp", "bench", "built"})})},
                           {"run", Json::array({Json::array({"sh", "built"})})}};
        std::ofstream(repository.beside("counter.json")) << file.dump();
        const CliResult added = cli.run({"program", "add", repository.beside("counter.json")});
        ASSERT_EQ(added.code, 0) << added.err;
    }

    // As the page asks: in its role.
    bisect::AskedNow ask(const std::string& good, const std::string& bad) const {
        Connection page({.url = url, .role = DatabaseRole::web, .client = "page"});
        bisect::Asked wanted;
        wanted.experiment = experiment;
        wanted.good = good;
        wanted.bad = bad;
        wanted.asked_by = "kim";
        bisect::AskedNow now;
        page.transact([&](Transaction& t) { now = bisect::ask(t, wanted); });
        return now;
    }

    bisect::Asked stored() const {
        Connection page({.url = url, .role = DatabaseRole::web, .client = "page"});
        std::vector<bisect::Asked> all;
        page.look([&](Transaction& t) { all = bisect::searches(t, experiment, ""); });
        return all.empty() ? bisect::Asked{} : all.front();
    }

    SteadyCli cli;
    GitFixture repository;
    std::vector<std::string> commits;
    std::string experiment, url;
};

TEST_F(PageSearch, AWorkerFindsTheCulprit) {
    add_program();
    EXPECT_TRUE(ask(commits.front(), commits.back()).created);
    EXPECT_FALSE(ask(commits.front(), commits.back()).created) << "it is open already";
    const CliResult worked = cli.run({"worker", "--once"});
    ASSERT_EQ(worked.code, 0) << worked.err;
    const bisect::Asked found = stored();
    EXPECT_EQ(found.state, "done") << found.note << worked.err;
    EXPECT_EQ(found.outcome, "found");
    EXPECT_EQ(found.culprit, commits[3]);
    EXPECT_EQ(found.asked_by, "kim");
    EXPECT_FALSE(found.host.empty());
    EXPECT_THAT(found.note, HasSubstr(commits[3].substr(0, 12)));
}

TEST_F(PageSearch, WhatCannotRunIsSaidOrWaits) {
    ask(commits.front(), commits.back());
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    EXPECT_EQ(stored().state, "queued") << "nobody registered the program";
    add_program();
    ask(commits.back(), commits.front());
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    const bisect::Asked refused = stored();
    EXPECT_EQ(refused.state, "failed");
    EXPECT_THAT(refused.note, HasSubstr("BAD is older than GOOD"));
    Connection page({.url = url, .role = DatabaseRole::web, .client = "page"});
    const std::int64_t id = ask(commits[0], commits[1]).id;
    std::string state;
    page.transact([&](Transaction& t) { state = bisect::cancel(t, id, "lee"); });
    EXPECT_EQ(state, "cancelled");
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    EXPECT_EQ(stored().state, "cancelled");
    EXPECT_THAT(stored().note, HasSubstr("lee"));
}

}  // namespace
}  // namespace steady
