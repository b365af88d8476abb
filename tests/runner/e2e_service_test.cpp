// What a team relies on when nobody watches, through the real program: entries that could not be
// written, a schema that changes by hand alone, who did what.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runner/platform/process.h"
#include "runner/storage/cluster_server.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Service : public ::testing::Test {
protected:
    nlohmann::json run(std::vector<std::string> words, int code = 0) {
        words.push_back("--json");
        const CliResult result = cli.run(words);
        EXPECT_EQ(result.code, code) << words[0] << ": " << result.out << result.err;
        return result.json();
    }
    void sql(const std::string& statement) {
        const CliResult result =
            cli.run({"db", "psql", "--", "-v", "ON_ERROR_STOP=1", "-c", statement});
        ASSERT_EQ(result.code, 0) << result.err;
    }

    SteadyCli cli;
};

// A file where the folder should be: even root cannot write there.
TEST_F(Service, AnUnwritableJournalCostsNoVerdictAndNoWorker) {
    for (const char* id : {"first", "second"}) {
        run({"submit", cli.experiment(id, quick_experiment())});
    }
    fs::remove_all(cli.root() / "journal");
    std::ofstream(cli.root() / "journal") << "in the way";
    const CliResult worked = cli.run({"worker", "--once"});
    EXPECT_EQ(worked.code, 0) << worked.err;
    EXPECT_THAT(worked.err, HasSubstr("steady journal --write"));
    for (const char* id : {"first", "second"}) {
        EXPECT_EQ(run({"show", id}).at("state"), "done") << id;
    }
    fs::remove(cli.root() / "journal");
    fs::create_directories(cli.root() / "journal");

    const nlohmann::json checked = run({"journal", "--check"}, 1);
    EXPECT_EQ(checked.at("missing").size(), 2U);
    EXPECT_EQ(run({"journal", "--write"}).at("written").size(), 2U);
    const nlohmann::json again = run({"journal", "--check"});
    EXPECT_EQ(again.at("checked"), 2);
    EXPECT_TRUE(again.at("missing").empty());
    EXPECT_TRUE(run({"journal", "--write"}).at("written").empty());

    // A worker that died between verdict and entry; the next one on this host makes up for it.
    sql("delete from steady.journal where kind = 'path'");
    fs::remove_all(cli.root() / "journal");
    fs::create_directories(cli.root() / "journal");
    EXPECT_THAT(cli.run({"worker", "--once"}).err, HasSubstr("which an earlier worker had left"));
    EXPECT_EQ(run({"journal", "--check"}).at("checked"), 2);

    // Every verdict here was computed by the owner's side too, before anybody asked.
    EXPECT_EQ(run({"decide", "--unchecked"}).at("checked"), 0);
    EXPECT_EQ(run({"show", "first"}).at("checked"), true);
}

TEST_F(Service, AForgedVerdictIsRefuted) {
    const CliResult ran = cli.run({"run", cli.experiment("honest", quick_experiment()), "--json"});
    ASSERT_NE(ran.code, 1) << ran.err;
    const std::string id = ran.json().at("id");
    sql("delete from steady.verdict_check");
    EXPECT_THAT(cli.run({"show", id}).out, HasSubstr("unchecked"));
    EXPECT_EQ(run({"decide", "--unchecked"}).at("refuted").size(), 0U);
    sql("delete from steady.verdict_check; update steady.verdict set outcome = case outcome when "
        "'reject' then 'accept' else 'reject' end, reason = null");
    const nlohmann::json refuted = run({"decide", "--unchecked"}, 1).at("refuted");
    ASSERT_EQ(refuted.size(), 1U);
    EXPECT_EQ(refuted[0].at("id"), id);
    EXPECT_EQ(run({"show", id}).at("state"), "failed");
    run({"requeue", id});
    EXPECT_EQ(cli.run({"worker", "--once"}).code, 0);
    EXPECT_EQ(run({"show", id}).at("state"), "done") << "its samples are still there";

    std::string said;
    const nlohmann::json log = run({"audit-log", id});
    for (const auto& entry : log.at("entries")) {
        said = entry.at("what").get<std::string>() + "; " + said;
        EXPECT_THAT(entry.at("actor").get<std::string>(), HasSubstr("cli "));
    }
    EXPECT_EQ(said, "submitted; verdict refuted; requeued; ");
}

// The samples say reject. A worker that also invents what earlier attempts had shown makes the
// stored verdict agree with the record; the owner's side asks the earlier attempts themselves.
TEST_F(Service, AForgedPastIsRefuted) {
    if (std::getenv("STEADY_LONG") == nullptr)
        GTEST_SKIP() << "takes a minute: ctest -C long -L long";
    nlohmann::json slower = small_experiment();
    std::swap(slower["arms"]["A"], slower["arms"]["B"]);
    const nlohmann::json honest = run({"run", cli.experiment("slower", slower)}, 10);
    ASSERT_EQ(honest.at("verdict"), "reject") << honest;
    const std::string id = honest.at("id");
    sql("delete from steady.verdict_check");
    EXPECT_EQ(run({"decide", "--unchecked"}).at("refuted").size(), 0U);

    sql("create table public.kept as select * from steady.evidence where kind = 'prior'; delete "
        "from steady.verdict_check; update steady.evidence set body = body || "
        "'{\"log_e_accept\": 1000, \"log_e_reject\": -1000}' where kind = 'prior'; update "
        "steady.verdict set outcome = 'accept', reason = null, analysis = analysis || "
        "'{\"verdict\": \"accept\", \"reason\": \"\"}'");
    EXPECT_EQ(run({"show", id}).at("verdict"), "accept") << "what a worker would have people read";
    const nlohmann::json refuted = run({"decide", "--unchecked"}, 1).at("refuted");
    ASSERT_EQ(refuted.size(), 1U);
    EXPECT_NE(refuted[0].at("samples"), "accept");

    // Evidence that nobody can read refutes its verdict, and does not stop the check of others.
    sql("update steady.evidence e set body = k.body from public.kept k where (e.job_id, e.kind, "
        "e.epoch) = (k.job_id, k.kind, k.epoch)");
    run({"requeue", id});
    cli.work(id);
    ASSERT_EQ(run({"show", id}).at("verdict"), "reject");
    sql("delete from steady.verdict_check; update steady.evidence set body = '{\"attempts\": 7}' "
        "where kind = 'prior'");
    const nlohmann::json unreadable = run({"decide", "--unchecked"}, 1);
    ASSERT_EQ(unreadable.at("refuted").size(), 1U);
    EXPECT_THAT(unreadable.at("refuted")[0].at("samples").get<std::string>(),
                HasSubstr("nothing that can be read"));
}

// A log file on a full disk is no reason to lose a measurement, nor to blame the job for it.
TEST_F(Service, AFullLogEndsNoJob) {
    if (std::getenv("STEADY_LONG") == nullptr)
        GTEST_SKIP() << "takes a minute: ctest -C long -L long";
    run({"submit", cli.experiment("logged", small_experiment())});
    const int code = cli.run_into("/dev/full", {"worker", "--once"});
    EXPECT_EQ(code, 0);
    EXPECT_EQ(run({"show", "logged"}).at("state"), "done");
    EXPECT_EQ(run({"show", "logged"}).at("checked"), true);
}

TEST_F(Service, ASharedSchemaChangesByHandAfterADump) {
    run({"submit", cli.experiment("kept", small_experiment())});
    sql("create database team");
    std::string url = run({"db", "url"}).at("url");
    const std::string here = url;
    url.replace(url.find("///") + 3, url.find('?') - url.find("///") - 3, "team");
    const CliResult refused = cli.run({"queue", "--db", url});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("`steady db migrate` makes it"));
    EXPECT_EQ(run({"db", "migrate", "--db", url}).at("dump"), "") << "there was nothing to lose";
    EXPECT_TRUE(run({"queue", "--db", url}).at("jobs").empty());

    sql("delete from steady.migration where name = '0080_service.sql'");
    const CliResult behind = cli.run({"queue", "--db", here});
    EXPECT_EQ(behind.code, 2);
    EXPECT_THAT(behind.err, HasSubstr("0080_service.sql"));
    EXPECT_NE(cli.run({"db", "migrate", "--db", here}).code, 0) << "its tables are there already";
    const fs::path backups = cli.state() / "backups";
    ASSERT_EQ(std::distance(fs::directory_iterator(backups), {}), 1);
    const fs::path dump = fs::directory_iterator(backups)->path();
    EXPECT_GT(fs::file_size(dump), 10000U);
    std::ifstream file(dump, std::ios::binary);
    std::string magic(5, ' ');
    file.read(magic.data(), 5);
    EXPECT_EQ(magic, "PGDMP");
}

// A short command would otherwise have two connections, of which each costs the server a process.
TEST_F(Service, AnOwnSchemaIsAskedForOnceInALifeOfItsServer) {
    run({"queue"});
    sql("delete from steady.migration where name = '0080_service.sql'");
    EXPECT_EQ(cli.run({"queue"}).code, 0) << "asked again";
    run({"db", "stop"});
    EXPECT_NE(cli.run({"queue"}).code, 0) << "not asked by the next server";
}

// The drill of a lost database: dump, restore into an empty one, judge every verdict again there.
TEST_F(Service, ARestoredBackupDecidesTheSame) {
    std::vector<std::string> ids = {"waits"};
    for (const char* record : {"quickstart-16106d8c", "champion-avx2-dense-rows16-4d90a19d"}) {
        run({"import",
             fmt::format("{}/experiments/records/{}.steady.json", STEADY_SOURCE_DIR, record)});
        ids.emplace_back(record);
    }
    run({"cancel", run({"submit", cli.experiment("waits", small_experiment())}).at("id")});
    const std::string dump = run({"db", "dump", (cli.root() / "backups").string()}).at("file");
    sql("create database restored");
    const std::string here = run({"db", "url"}).at("url");
    std::string there = here;
    there.replace(there.find("///") + 3, there.find('?') - there.find("///") - 3, "restored");
    ChildOptions restore;
    restore.argv = {cluster::find_layout(cli.state().string()).bin + "/pg_restore",
                    "--exit-on-error", "-d", there, dump};
    const ChildEnd end = run_child(restore, 60);
    ASSERT_TRUE(end.ok()) << end.describe();

    const nlohmann::json judged = run({"decide", "--all", "--db", there});
    EXPECT_EQ(judged.at("judged"), 2);
    EXPECT_TRUE(judged.at("differences").empty()) << judged;
    for (const std::string& id : ids) {
        EXPECT_EQ(run({"show", id, "--db", there}), run({"show", id, "--db", here})) << id;
    }
    EXPECT_EQ(run({"audit-log", "--db", there}), run({"audit-log", "--db", here}));
    EXPECT_EQ(run({"db", "migrate", "--db", there}).at("applied"), 0);
    run({"requeue", "waits", "--db", there});
    EXPECT_EQ(run({"queue", "--db", there}).at("jobs").size(), 1U) << "work goes on there";
    EXPECT_EQ(run({"show", "waits", "--db", here}).at("state"), "cancelled");

    // What the drill must be able to see: a verdict's row that says another one than its analysis,
    const CliResult forged =
        cli.run({"db", "psql", "--db", there, "--", "-c",
                 "alter table steady.verdict disable trigger all; update steady.verdict set "
                 "outcome = case outcome when 'accept' then 'reject' else 'accept' end"});
    EXPECT_EQ(forged.code, 0) << forged.err;
    EXPECT_EQ(run({"decide", "--all", "--db", there}, 1).at("differences").size(), 2U);
    run({"decide", ids[1], "--db", there}, 1);

    // and a sample that is not what it was.
    const CliResult spoiled = cli.run({"db", "psql", "--db", there, "--", "-c",
                                       "alter table steady.sample disable trigger all; update "
                                       "steady.sample set vals = array(select v * 1.5 from "
                                       "unnest(vals) v) where arm = 'B'"});
    EXPECT_EQ(spoiled.code, 0) << spoiled.err;
    EXPECT_GT(run({"decide", "--all", "--db", there}, 1).at("differences").size(), 0U);
}

}  // namespace
}  // namespace steady
