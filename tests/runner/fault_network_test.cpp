// The network between workers and database fails in every way it can: connections are closed,
// reset, swallowed for longer than a lease, and the answers of commits are lost. Nothing that a
// worker was told is stored may be missing afterwards, and nothing may be there twice.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/record/record_json.h"
#include "runner/storage/pqxx.h"
#include "tests/support/fault_team.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

std::string socket_path() {
    return private_cluster_status(ThrowawayDatabase::base_dir()).socket_dir + "/.s.PGSQL.5432";
}

std::string name_of(const std::string& url) {
    const auto from = url.find(":///") + 4;
    return url.substr(from, url.find('?') - from);
}

int from_environment(const char* name, int otherwise) {
    const char* set = std::getenv(name);
    return set == nullptr ? otherwise : std::atoi(set);
}

// STEADY_NETWORK_FAULTS=60 for the long version.
TEST(FaultNetwork, NothingIsLostWhenTheNetworkFails) {
    const int n_faults = from_environment("STEADY_NETWORK_FAULTS", 20);
    const ThrowawayDatabase database;
    TcpProxy proxy(socket_path());
    Team team;
    team.submit(database.url(), 4);
    for (int i = 0; i < 4; ++i) team.start(proxy.url(name_of(database.url())), i % 2);
    std::mt19937_64 random(5);
    int n_cut = 0, n_reset = 0, n_swallowed = 0, n_lost_answers = 0;
    for (int i = 0; i < n_faults; ++i) {
        ::usleep(static_cast<useconds_t>(50'000 + random() % 250'000));
        switch (i % 10) {
            case 9:
                proxy.swallow(static_cast<int>(1300 * drill::kTimes.lease_s));
                ++n_swallowed;
                break;
            case 1:
            case 4:
            case 7:
                proxy.reset();
                ++n_reset;
                break;
            case 2:
            case 5:
            case 8:
                proxy.lose_commit_answers();
                ++n_lost_answers;
                break;
            default:
                proxy.cut();
                ++n_cut;
        }
        if (team.unfinished(database.url()) < 4) team.submit(database.url(), 3);
    }
    EXPECT_TRUE(team.wait_until_done(database.url(), 120));
    team.kill_all();
    const FaultReport report = team.check(database.url());
    fmt::print("{} cut, {} reset, {} swallowed beyond the lease, {} commit answers lost\n{}", n_cut,
               n_reset, n_swallowed, n_lost_answers, report.text());
    EXPECT_TRUE(report.sound());
    EXPECT_GT(report.samples_acknowledged, 0);
}

// Two machines, as far as the queue can tell (their own names, locks and spools), reach one queue
// by two addresses. STEADY_SHARED_JOBS sets how many experiments.
TEST(FaultNetwork, TwoHostsFinishASharedQueueExactlyOnce) {
    const int n_jobs = from_environment("STEADY_SHARED_JOBS", 200);
    const ThrowawayDatabase database;
    TcpProxy proxy(socket_path());
    Team team;
    team.submit(database.url(), n_jobs, 10);
    const auto live = [&](const std::string& url, const std::string& host) {
        WorkerOptions options;
        options.url = url;
        options.poll_s = 0.02;
        options.host = host;
        options.host_lock_path = team.folder() + "/lock-" + host;
        options.spool_dir = team.folder() + "/spool-" + host;
        Worker worker(options);
        int idle = 0;
        while (idle < 100) {
            const Worked worked = worker.work_one([&](Job& job) {
                int n = 0;  // decided after two pairs
                for (const Pair& pair : job.store->load_pairs(job.lease.job)) {
                    if (pair.kind != PairKind::measure || n == 2) continue;
                    job.sink->put_pair(measured(pair));
                    drill::append_line(team.folder() + "/did", std::to_string(job.lease.job));
                    ++n;
                }
                return JobResult{.how = JobResult::How::decided,
                                 .verdict = "accept",
                                 .analysis_json = nlohmann::json(Analysis{}).dump(),
                                 .sentence = "Yes."};
            });
            idle = worked.end == WorkEnd::decided ? 0 : idle + 1;
            if (idle > 0) ::usleep(20'000);
        }
    };
    team.start([&] { live(database.url(), "sharedhost01"); });
    team.start([&] { live(proxy.url(name_of(database.url())), "sharedhost02"); });
    EXPECT_TRUE(team.wait_until_done(database.url(), 240));
    team.kill_all();
    pqxx::connection connection(database.url());
    pqxx::work work(connection);
    const auto row = work.exec1(
        "select (select count(*) from steady.verdict), (select count(*) from steady.attempt), "
        "(select count(*) from steady.attempt where how = 'done'), "
        "(select count(*) from steady.pair where done_at is not null), "
        "(select count(*) from steady.official_value), "
        "(select min(n) from (select count(*) as n from steady.attempt group by host_id) each), "
        "(select count(distinct host_id) from steady.attempt)");
    EXPECT_EQ(row[0].as<int>(), n_jobs) << "verdicts";
    EXPECT_EQ(row[1].as<int>(), n_jobs) << "attempts";
    EXPECT_EQ(row[2].as<int>(), n_jobs) << "attempts that ended well";
    EXPECT_EQ(row[3].as<int>(), 2 * n_jobs) << "sealed pairs";
    EXPECT_EQ(row[4].as<int>(), 2 * n_jobs * 2 * (4 + 1)) << "values";
    EXPECT_EQ(row[6].as<int>(), 2) << "hosts that took part";
    fmt::print("{} experiments, {} of them by the less busy host\n", n_jobs, row[5].as<int>());
    std::ifstream did(team.folder() + "/did");
    int n_did = 0;
    for (std::string line; std::getline(did, line);) ++n_did;
    EXPECT_EQ(n_did, 2 * n_jobs) << "no pair was measured twice";
}

}  // namespace
}  // namespace steady
