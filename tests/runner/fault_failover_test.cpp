// A primary with a synchronous streaming replica, both made here; the primary dies while workers
// run and the replica takes over. Workers know both addresses and nothing else. The second test
// takes the synchronous away and must see the loss that it prevents.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <pqxx/pqxx>

#include "runner/platform/clock.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/dashboard_queries.h"
#include "runner/storage/migrate.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/fault_team.h"

namespace steady {
namespace {

class FaultFailover : public ::testing::Test {
protected:
    FaultFailover() {
        primary_url_ = private_cluster_url({.base_dir = base_ + "/one", .idle_stop_s = 600});
        migrate(primary_url_);
        primary_ = cluster::find_layout(base_ + "/one");
        replica_ = cluster::find_layout(base_ + "/two");
    }
    ~FaultFailover() override {
        for (const char* part : {"/one", "/two"}) {
            try {
                stop_private_cluster(base_ + part);
            } catch (const Error& error) {
                fmt::print(stderr, "{}\n", error.what());
            }
        }
        std::error_code error;
        std::filesystem::remove_all(base_, error);
    }

    static std::string ask(const std::string& url, const std::string& query) {
        pqxx::connection connection(url);
        pqxx::nontransaction work(connection);
        const auto found = work.exec(query);
        return found.empty() || found[0][0].is_null() ? "" : found[0][0].c_str();
    }

    void make_replica(bool synchronous) {
        cluster::prepare_directories(replica_);
        SpawnPlan plan;
        plan.argv = {replica_.bin + "/pg_basebackup",
                     "-h",
                     primary_.socket_dir,
                     "-U",
                     "steady",
                     "-D",
                     replica_.data,
                     "-R",
                     "-X",
                     "stream",
                     "-c",
                     "fast"};
        plan.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
        plan.directory = "/";
        plan.run_as = replica_.run_as;
        int status = -1;
        const pid_t pid = spawn(plan);
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        ASSERT_EQ(status, 0) << "pg_basebackup";
        cluster::start_server(replica_);
        for (int i = 0; i < 600; ++i) {
            try {
                ask(replica_.url("steady"), "select 1");
                break;
            } catch (const pqxx::failure&) {
                ::usleep(50'000);
            }
        }
        if (synchronous) {
            ask(primary_url_, "alter system set synchronous_standby_names = '*'");
            ask(primary_url_, "select pg_reload_conf()");
        }
        const std::string wanted = synchronous ? "sync" : "async";
        for (int i = 0; i < 600 && replication() != wanted; ++i) ::usleep(50'000);
        ASSERT_EQ(replication(), wanted);
    }

    std::string replication() {
        return ask(primary_url_,
                   "select max(sync_state) from pg_stat_replication where state = 'streaming'");
    }

    std::string both() const {
        return fmt::format(
            "postgresql:///steady?host={},{}&user=steady&target_session_attrs=read-write",
            primary_.socket_dir, replica_.socket_dir);
    }

    void kill_primary() {
        const pid_t pid = cluster::running_postmaster(primary_);
        ASSERT_GT(pid, 0);
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        cluster::end_orphans(primary_);
    }

    bool wait_for_acks(const Team& team, int n) {
        const double give_up = boottime_s() + 60;
        while (team.acknowledged() < n && boottime_s() < give_up) ::usleep(20'000);
        return team.acknowledged() >= n;
    }

    std::string base_ = scratch_dir() + "/steady-failover-" + random_hex(6);
    std::string primary_url_;
    cluster::Layout primary_, replica_;
};

TEST_F(FaultFailover, NothingAcknowledgedIsLostAndWorkGoesOn) {
    ASSERT_NO_FATAL_FAILURE(make_replica(true));
    Team team;
    team.submit(both(), 8);
    for (int i = 0; i < 4; ++i) team.start(both(), i % 2);
    ASSERT_TRUE(wait_for_acks(team, 40));

    Connection page({.url = replica_.url("steady"), .role = DatabaseRole::web, .client = "page"});
    page.transact([](pqxx::transaction_base& work) {
        EXPECT_EQ(work.exec1("select pg_is_in_recovery()")[0].as<bool>(), true);
        EXPECT_EQ(page::list(work, {}).rows.size(), 8U) << "the page reads from the replica";
    });

    const int before = team.acknowledged();
    kill_primary();
    ASSERT_EQ(ask(replica_.url("steady"), "select pg_promote(true, 60)"), "t");
    EXPECT_TRUE(team.wait_until_done(both(), 120));
    team.kill_all();
    const FaultReport report = team.check(replica_.url("steady"));
    fmt::print("{} pairs acknowledged before the primary died, {} after\n{}", before,
               team.acknowledged() - before, report.text());
    EXPECT_TRUE(report.sound());
    EXPECT_GT(team.acknowledged(), before);
}

TEST_F(FaultFailover, AnAsynchronousReplicaLosesAndTheTestSeesIt) {
    ASSERT_NO_FATAL_FAILURE(make_replica(false));
    Team team;
    team.submit(both(), 4);
    for (int i = 0; i < 2; ++i) team.start(both(), i);
    ASSERT_TRUE(wait_for_acks(team, 10));
    const pid_t receiver =
        std::stoi(ask(replica_.url("steady"), "select pid from pg_stat_wal_receiver"));
    ::kill(receiver, SIGSTOP);  // the replica falls behind
    ASSERT_TRUE(wait_for_acks(team, team.acknowledged() + 20));
    team.kill_all();
    kill_primary();
    ::kill(receiver, SIGKILL);
    for (int i = 0; i < 200; ++i) {
        try {
            ask(replica_.url("steady"), "select pg_promote(true, 60)");
            break;
        } catch (const pqxx::failure&) {
            ::usleep(50'000);  // it restarts after the kill
        }
    }
    const FaultReport report = team.check(replica_.url("steady"));
    fmt::print("{}", report.text());
    EXPECT_GT(report.samples_lost, 0) << "the test cannot see a loss";
}

}  // namespace
}  // namespace steady
