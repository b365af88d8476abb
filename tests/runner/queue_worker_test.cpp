// One worker: its own job, resume, cancel, shutdown, a lost lease, crashes, the spool, a restart of
// the server in the middle.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/plan/plan.h"
#include "runner/plan/schedule.h"
#include "runner/platform/host_lock.h"
#include "runner/storage/service.h"
#include "tests/runner/queue_fixture.h"

namespace steady {
namespace {

using std::chrono::milliseconds;

TEST_F(QueueTest, AJobIsWorkedToItsVerdict) {
    const auto job = submit();
    Worker worker(options());
    const auto worked = worker.work_one([&](Job& mine) { return measure(mine); });
    EXPECT_EQ(worked.end, WorkEnd::decided) << worked.note;
    EXPECT_EQ(worked.id, job.id);
    EXPECT_EQ(measured_, 12) << "ten pairs and two A/A";
    EXPECT_EQ(store_.load_record(job.id).state, "done");
    EXPECT_EQ(worker.work_one([&](Job& mine) { return measure(mine); }).end, WorkEnd::nothing);
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/spool"));
}

TEST_F(QueueTest, TheStoredPlanIsTheScheduleOfTheSeed) {
    const auto job = submit();
    const auto record = store_.load_record(job.id);
    const auto schedule = make_schedule(record.spec, make_plan(record.spec, {}), record.seed);
    const auto stored = store_.load_pairs(job.job);
    ASSERT_EQ(stored.size(), schedule.size());
    for (const auto& pair : stored) {
        const bool same = std::any_of(schedule.begin(), schedule.end(), [&](const Pair& planned) {
            return planned.gate == pair.gate && planned.kind == pair.kind &&
                   planned.number == pair.number && planned.coins == pair.coins;
        });
        EXPECT_TRUE(same) << pair.number;
    }
}

TEST_F(QueueTest, OnlyOpenPairsRunAgain) {
    const auto job = submit();
    Worker first(options());
    const auto died = first.work_one([&](Job& mine) -> JobResult {
        measure(mine, 5);
        throw Error{"the engine went away", kExitInternal};
    });
    EXPECT_EQ(died.end, WorkEnd::requeued);
    sql("update steady.job set run_after = clock_timestamp()");
    Worker second(options());
    EXPECT_EQ(second.work_one([&](Job& mine) { return measure(mine); }).end, WorkEnd::decided);
    EXPECT_EQ(measured_, 12);
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.attempts.size(), 2U);
    EXPECT_EQ(record.attempts[0].how, "crashed");
}

TEST_F(QueueTest, AUsageErrorFailsAtOnceWithItsText) {
    const auto job = submit();
    Worker worker(options());
    const auto worked = worker.work_one(
        [](Job&) -> JobResult { throw Error{"no model x.gguf under /models password=hunter2"}; });
    EXPECT_EQ(worked.end, WorkEnd::failed);
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.state, "failed");
    EXPECT_THAT(record.note, ::testing::HasSubstr("no model x.gguf"));
    EXPECT_THAT(record.note, ::testing::Not(::testing::HasSubstr("hunter2")));
}

TEST_F(QueueTest, CancelWakesTheRunningChild) {
    const auto job = submit();
    Worker worker(options());
    std::promise<void> measured;
    std::jthread person([&] {
        measured.get_future().wait();
        Store store({.url = database_.url(), .role = DatabaseRole::owner, .client = "person"});
        store.cancel(job.id);
    });
    const auto worked = worker.work_one([&](Job& mine) -> JobResult {
        measure(mine, 2);
        measured.set_value();
        ChildOptions child;
        child.argv = {"/bin/sleep", "60"};
        child.stop = mine.stop;
        EXPECT_EQ(run_child(child, 30).outcome(), "cancelled");
        return {.how = JobResult::How::stopped};
    });
    EXPECT_EQ(worked.end, WorkEnd::cancelled);
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.state, "cancelled");
    EXPECT_EQ(record.pairs.size(), 2U) << "what was measured stays";
}

TEST_F(QueueTest, ShutdownGivesTheJobBack) {
    const auto job = submit();
    StopSignal shutdown;
    auto mine = options();
    mine.shutdown = &shutdown;
    Worker worker(mine);
    const auto worked = worker.work_one([&](Job& running) -> JobResult {
        measure(running, 1);
        shutdown.raise();
        while (!running.should_stop()) std::this_thread::sleep_for(milliseconds(5));
        return {.how = JobResult::How::stopped};
    });
    EXPECT_EQ(worked.end, WorkEnd::released);
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.state, "queued");
    EXPECT_EQ(record.pairs.size(), 1U);
}

TEST_F(QueueTest, AWorkerFencesItselfWhenItCannotRenew) {
    submit();
    auto mine = options();
    mine.times = {.lease_s = 30, .renew_s = 0.1, .fence_s = 0.6};
    Worker worker(mine);
    const auto worked = worker.work_one([&](Job& running) -> JobResult {
        ThrowawayDatabase::kill_server();
        const auto start = std::chrono::steady_clock::now();
        while (!running.should_stop()) std::this_thread::sleep_for(milliseconds(5));
        const auto waited = std::chrono::steady_clock::now() - start;
        EXPECT_LT(waited, std::chrono::seconds(30)) << "before the lease itself ends";
        ThrowawayDatabase::restart_server();
        return measure(running);
    });
    EXPECT_EQ(worked.end, WorkEnd::lease_lost) << worked.note;
    EXPECT_THAT(worked.note, ::testing::HasSubstr("it was not renewed within 0.6 s"));
    EXPECT_THAT(worked.note, ::testing::HasSubstr("Every stored pair is kept"));
    EXPECT_EQ(measured_, 0);
}

TEST_F(QueueTest, ARestartOfTheServerInTheMiddleIsRiddenOut) {
    const auto job = submit();
    auto mine = options();
    mine.times = {.lease_s = 90, .renew_s = 0.2, .fence_s = 80};
    Worker worker(mine);
    const auto worked = worker.work_one([&](Job& running) {
        measure(running, 3);
        ThrowawayDatabase::kill_server();
        std::jthread restarter([] {
            std::this_thread::sleep_for(milliseconds(300));
            ThrowawayDatabase::restart_server();
        });
        running.store->connection().set_patience(60);
        return measure(running);
    });
    EXPECT_EQ(worked.end, WorkEnd::decided) << worked.note;
    EXPECT_EQ(store_.load_record(job.id).attempts.size(), 1U);
}

TEST_F(QueueTest, ASpooledPairOfADeadWorkerIsStoredWhileItsLeaseStands) {
    const auto job = submit();
    auto mine = options();
    // The fence too: over, the lease's threads have returned when the process ends like a crash,
    // which ThreadSanitizer reports as threads that nobody joined.
    mine.times = {.lease_s = 60, .renew_s = 0.2, .fence_s = 50};
    const pid_t dying = ::fork();
    if (dying == 0) {
        Worker worker(mine);
        worker.work_one([&](Job& running) -> JobResult {
            Spool spool(folder_ + "/spool", running.lease);
            const auto open = running.store->load_pairs(running.lease.job);
            spool.add(measured(open[0]), "");
            ::_exit(137);  // measured and spooled, never sent
        });
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(dying, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 137);
    EXPECT_TRUE(store_.load_record(job.id).pairs.empty());
    Worker next(mine);
    EXPECT_EQ(next.work_one([&](Job& running) { return measure(running); }).end, WorkEnd::decided);
    EXPECT_EQ(measured_, 11) << "one of twelve came from the spool";
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.pairs.size(), 12U);
    EXPECT_EQ(record.attempts.size(), 2U);
}

TEST_F(QueueTest, AFencedSpoolIsKeptAsEvidence) {
    submit();
    Lease gone{.job = 1, .epoch = 7, .host = 1, .worker = random_uuid(), .id = "example-spec"};
    {
        Spool spool(folder_ + "/spool", gone);
        spool.add(measured(example_plan(1)[1]), "");
    }
    Worker worker(options());
    EXPECT_EQ(worker.work_one([&](Job& running) { return measure(running); }).end,
              WorkEnd::decided);
    EXPECT_FALSE(std::filesystem::is_empty(folder_ + "/spool/kept"));
}

// A job that would fill the worker's disk is that job's fault: it ends as wrong, not as tried
// again.
// A file system of one megabyte, which is less than a job may need.
TEST_F(QueueTest, AnEntryThatCannotBeWrittenDoesNotEndTheWorker) {
    submit("first-question");
    submit("second-question");
    WorkerOptions talking = options();
    std::string said;
    talking.once = true;
    talking.message = [&](const std::string& line) { said += line + "\n"; };
    Worker worker(talking);
    int tried = 0;
    worker.work([&](Job& mine) { return measure(mine); },
                [&](Store&, const std::string&) {
                    ++tried;
                    throw Error{"cannot write journal: Not a directory"};
                });
    EXPECT_EQ(tried, 2);
    EXPECT_EQ(service::state(store_.connection()).missing_entries, 2);
    EXPECT_THAT(said, ::testing::HasSubstr("steady journal --write"));
}

// Whatever a job throws, it is the job's end and not the worker's.
TEST_F(QueueTest, NoExceptionOfAJobEndsTheWorker) {
    const auto job = submit();
    Worker worker(options());
    const Worked worked = worker.work_one(
        [](Job&) -> JobResult { throw std::runtime_error("a library's own error"); });
    EXPECT_EQ(worked.end, WorkEnd::requeued);
    EXPECT_THAT(store_.load_record(job.id).note, ::testing::HasSubstr("a library's own error"));
    sql("update steady.job set run_after = clock_timestamp()");
    EXPECT_EQ(worker.work_one([&](Job& mine) { return measure(mine); }).end, WorkEnd::decided);

    submit("second-question");
    WorkerOptions once = options();
    once.once = true;
    Worker another(once);
    another.work([&](Job& mine) { return measure(mine); },
                 [](Store&, const std::string&) { throw std::runtime_error("an entry's"); });
    EXPECT_EQ(service::state(store_.connection()).missing_entries, 2);
}

TEST_F(QueueTest, AnAttemptThatTakesTooLongIsEnded) {
    const auto job = submit();
    WorkerOptions capped = options();
    capped.times.most_s = 0.3;
    Worker worker(capped);
    const Worked worked = worker.work_one([&](Job& mine) -> JobResult {
        measure(mine, 2);
        while (!mine.should_stop()) std::this_thread::sleep_for(milliseconds(10));
        return {.how = JobResult::How::stopped};
    });
    EXPECT_EQ(worked.end, WorkEnd::failed);
    EXPECT_THAT(worked.note, ::testing::HasSubstr("--max-hours"));
    const Record record = store_.load_record(job.id);
    EXPECT_EQ(record.state, "failed");
    EXPECT_EQ(record.pairs.size(), 2U) << "what was sealed stays";
}

// Neither says anything about the job; five of them must not park it.
TEST_F(QueueTest, AWorkerOlderThanTheSchemaStopsWithWords) {
    submit();
    Worker worker(options());
    sql("insert into steady.migration values ('9999_future.sql', 'x')");
    try {
        worker.work_one([&](Job& mine) { return measure(mine); });
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("install a newer Steady"));
    }
    EXPECT_EQ(measured_, 0);
}

// Two machines of one image: the same name, but each with a lock file of its own.
TEST_F(QueueTest, TwentyJobsByThreeWorkersOnTwoHostsExactlyOnce) {
    for (int i = 0; i < 20; ++i) submit(fmt::format("question-{:02}", i));
    std::vector<pid_t> workers;
    for (int i = 0; i < 3; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            auto mine = options();
            mine.host = fmt::format("testhost000{}", i % 2);
            mine.host_lock_path = fmt::format("{}/lock{}", folder_, i % 2);
            mine.spool_dir = fmt::format("{}/spool{}", folder_, i % 2);
            mine.times = {.lease_s = 20, .renew_s = 1, .fence_s = 15};
            mine.host_lock_wait_s = 5;
            Worker worker(mine);
            int idle = 0;
            while (idle < 10) {
                const auto worked = worker.work_one([&](Job& running) { return measure(running); });
                idle = worked.end == WorkEnd::decided ? 0 : idle + 1;
                if (idle > 0) std::this_thread::sleep_for(milliseconds(20));
            }
            ::_exit(0);
        }
        workers.push_back(pid);
    }
    for (const pid_t pid : workers) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
    }
    const auto rows = store_.list_experiments({}, 100);
    ASSERT_EQ(rows.size(), 20U);
    for (const auto& row : rows) {
        EXPECT_EQ(row.state, "done") << row.note;
        EXPECT_EQ(store_.load_record(row.id).attempts.size(), 1U);
    }
}

}  // namespace
}  // namespace steady
