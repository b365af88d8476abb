// A primary with a synchronous streaming replica, both made here; the primary dies while workers
// run and the replica takes over. Workers know both addresses and nothing else. The second test
// takes the synchronous away and must see the loss that it prevents.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runner/storage/cluster_server.h"
#include "runner/storage/dashboard_queries.h"
#include "runner/storage/migrate.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/fault_team.h"
#include "tests/support/replica.h"

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
    ~FaultFailover() override { remove_pair(base_); }

    void make_replica(bool synchronous) {
        cluster::prepare_directories(replica_);
        run_to_end(base_backup(replica_, primary_.socket_dir));
        cluster::start_server(replica_);
        ASSERT_TRUE(until(30, [&] { return ask(replica_.url("steady"), "select 1") == "1"; }));
        ASSERT_TRUE(stream(primary_url_, synchronous));
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
        return until(60, [&] { return team.acknowledged() >= n; });
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
    ASSERT_TRUE(until(30, [&] {  // it restarts after the kill
        const bool follows = ask(replica_.url("steady"), "select pg_is_in_recovery()") == "t";
        if (follows) ask(replica_.url("steady"), "select pg_promote(true, 60)");
        return !follows;
    }));
    const FaultReport report = team.check(replica_.url("steady"));
    fmt::print("{}", report.text());
    EXPECT_GT(report.samples_lost, 0) << "the test cannot see a loss";
}

}  // namespace
}  // namespace steady
