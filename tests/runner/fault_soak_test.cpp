// One worker process that takes thousands of jobs, each with a child: nothing may be left behind.
// STEADY_SOAK_JOBS sets how many.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/platform/process.h"
#include "runner/record/record_json.h"
#include "runner/storage/pqxx.h"
#include "tests/support/fault_team.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

struct Held {
    long descriptors = 0, rss_kb = 0, zombies = 0;
};

Held held_now() {
    Held held;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
        ++held.descriptors;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmRSS:", 0) == 0) held.rss_kb = std::stol(line.substr(6));
    }
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
        std::ifstream children(task.path() / "children");
        for (long pid = 0; children >> pid;) {
            std::ifstream stat(fmt::format("/proc/{}/stat", pid));
            std::string text;
            std::getline(stat, text);
            if (text.find(") Z") != std::string::npos) ++held.zombies;
        }
    }
    return held;
}

TEST(FaultSoak, ManyJobsLeaveNothingBehind) {
    const char* set = std::getenv("STEADY_SOAK_JOBS");
    const int n_jobs = set == nullptr ? 40 : std::atoi(set);
    const ThrowawayDatabase database;
    Team team;
    WorkerOptions options;
    options.url = database.url();
    options.host = "soakedhost01";
    options.host_lock_path = team.folder() + "/lock";
    options.spool_dir = team.folder() + "/spool";
    Worker worker(options);
    const RunJob run = [](Job& job) {
        ChildOptions child;
        child.argv = {"/bin/true"};
        child.host_lock_fd = job.host_lock_fd;
        EXPECT_TRUE(run_child(child, 60).ok());
        for (const Pair& pair : job.store->load_pairs(job.lease.job)) {
            if (pair.kind == PairKind::measure && pair.number < 2)
                job.sink->put_pair(measured(pair));
        }
        return JobResult{.how = JobResult::How::decided,
                         .verdict = "inconclusive",
                         .analysis_json = nlohmann::json(Analysis{}).dump(),
                         .sentence = "No answer."};
    };
    Held before;
    for (int i = 0; i < n_jobs; ++i) {
        if (i == n_jobs / 10) before = held_now();
        team.submit(database.url(), 1, 10);
        WorkEnd end = worker.work_one(run).end;
        for (int again = 0; again < 20 && end != WorkEnd::decided; ++again) {
            team.unfinished(database.url());  // a machine that stood still may cost the lease
            ::usleep(500'000);
            end = worker.work_one(run).end;
        }
        ASSERT_EQ(end, WorkEnd::decided) << "job " << i;
    }
    const Held after = held_now();
    pqxx::connection connection(database.url());
    pqxx::nontransaction work(connection);
    work.exec("vacuum steady.job");
    const long job_kb =
        work.exec1("select pg_total_relation_size('steady.job') / 1024")[0].as<long>();
    fmt::print("{} jobs: {} descriptors, then {}; {} kB, then {}; {} zombies; job table {} kB\n",
               n_jobs, before.descriptors, after.descriptors, before.rss_kb, after.rss_kb,
               after.zombies, job_kb);
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.zombies, before.zombies) << "those before are of other tests of this program";
    EXPECT_LE(after.rss_kb, before.rss_kb + before.rss_kb / 50 + 512);
    EXPECT_LT(job_kb, 5 * 1024);
    EXPECT_TRUE(fs::is_empty(options.spool_dir) || !fs::exists(options.spool_dir + "/kept"));
    EXPECT_EQ(work.exec1("select count(*) from steady.verdict")[0].as<int>(), n_jobs);
}

}  // namespace
}  // namespace steady
