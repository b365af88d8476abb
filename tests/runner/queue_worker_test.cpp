// One worker against a real database: its own job, resume, cancel, shutdown, a lost lease, crashes,
// the spool, a restart of the server in the middle.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/plan/plan.h"
#include "runner/plan/schedule.h"
#include "runner/platform/disk.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/noise.h"
#include "runner/queue/submit.h"
#include "runner/queue/worker.h"
#include "runner/record/record_json.h"
#include "runner/storage/service.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

using std::chrono::milliseconds;

class QueueTest : public ::testing::Test {
protected:
    QueueTest() { std::filesystem::create_directories(folder_); }
    ~QueueTest() override {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
    }

    WorkerOptions options() {
        WorkerOptions options;
        options.url = database_.url();
        options.times = {.lease_s = 2, .renew_s = 0.2, .fence_s = 1.2};
        options.poll_s = 0.05;
        options.host = "testhost0000";
        options.host_lock_path = folder_ + "/lock";
        options.spool_dir = folder_ + "/spool";
        return options;
    }
    Submitted submit(const std::string& id = "example-spec") {
        return submit_experiment(store_, example_spec(id));
    }
    void sql(const std::string& text) {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(text);
        work.commit();
    }

    // Measures what is open, at most n pairs, in the stored order.
    JobResult measure(Job& job, int n = 1000) {
        for (const auto& pair : job.store->load_pairs(job.lease.job)) {
            if (pair.sealed) continue;
            if (n-- == 0) break;
            if (job.should_stop()) return {.how = JobResult::How::stopped};
            job.sink->put_pair(measured(pair));
            ++measured_;
        }
        return {.how = JobResult::How::decided,
                .verdict = "accept",
                .reason = "",
                .analysis_json = nlohmann::json(Analysis{}).dump(),
                .sentence = "Yes."};
    }

    ThrowawayDatabase database_;
    std::string folder_ = scratch_dir() + "/steady-queue-" + random_hex(6);
    Store store_{
        {.url = database_.url(), .role = DatabaseRole::owner, .client = "test", .patience_s = 60}};
    int measured_ = 0;
};

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
    mine.times.lease_s = 60;
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

TEST_F(QueueTest, AStopEndsTheWaitForTheHostLock) {
    submit();
    const auto held = HostLock::acquire(0, folder_ + "/lock");
    StopSignal shutdown;
    WorkerOptions patient = options();
    patient.host_lock_wait_s = 3600;
    patient.shutdown = &shutdown;
    Worker worker(patient);
    std::jthread later([&] {
        std::this_thread::sleep_for(milliseconds(200));
        shutdown.raise();
    });
    const Worked worked = worker.work_one([&](Job& mine) { return measure(mine); });
    EXPECT_EQ(worked.end, WorkEnd::released);
    EXPECT_EQ(measured_, 0);
}

TEST(Noise, AStopEndsTheWaitForQuiet) {
    StopSignal stop;
    stop.raise();
    EXPECT_EQ(wait_until_quiet(3600, &stop), "stopped");
}

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
TEST_F(QueueTest, AFullDiskPostponesTheJobAndDoesNotBlameIt) {
    const auto job = submit();
    Worker worker(options());
    for (int i = 0; i < 3; ++i) {
        for (const bool database : {true, false}) {
            sql("update steady.job set run_after = clock_timestamp()");
            const Worked worked = worker.work_one([&](Job&) -> JobResult {
                if (database) throw DatabaseStrained{"no space left (SQLSTATE 53100)"};
                throw HostTrouble{"cannot write the spool: No space left on device"};
            });
            EXPECT_EQ(worked.end, WorkEnd::postponed) << worked.note;
        }
    }
    EXPECT_EQ(store_.load_record(job.id).state, "queued");
}

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
TEST_F(QueueTest, ACloneDoesNotStopTheOthersJob) {
    submit();
    submit("second-question");
    Worker first(options());
    WorkerOptions elsewhere = options();
    elsewhere.host_lock_path = folder_ + "/lock of the clone";
    elsewhere.spool_dir = folder_ + "/spool of the clone";
    Worker clone(elsewhere);
    const Worked worked = first.work_one([&](Job& mine) {
        measure(mine, 3);
        const Worked other = clone.work_one([&](Job& its) { return measure(its); });
        EXPECT_EQ(other.end, WorkEnd::nothing);
        EXPECT_THAT(other.note, ::testing::HasSubstr("STEADY_HOST_NAME"));
        return measure(mine);
    });
    EXPECT_EQ(worked.end, WorkEnd::decided) << worked.note;
}

TEST(DiskSpace, EitherBoundIsEnough) {
    constexpr double kGb = 1e9;
    EXPECT_EQ(space_trouble({50 * kGb, 100 * kGb}, "/d"), "");
    EXPECT_NE(space_trouble({0.5 * kGb, 2 * kGb}, "/d"), "") << "a quarter, but below 1 GB";
    EXPECT_NE(space_trouble({3 * kGb, 100 * kGb}, "/d"), "") << "3 GB, but below 5 %";
    EXPECT_EQ(space_trouble({25 * kGb, 2000 * kGb}, "/d"), "") << "20 GB are enough anywhere";
    EXPECT_EQ(space_trouble({}, "/d"), "") << "a file system that does not tell";
}

TEST_F(QueueTest, KeptSpoolsAreBounded) {
    for (int i = 0; i < 5; ++i) std::ofstream(folder_ + fmt::format("/kept-{}", i)) << "12345";
    keep_newest(folder_, 3, 1000);
    const auto count = [&] {
        return std::distance(std::filesystem::directory_iterator(folder_), {});
    };
    EXPECT_EQ(count(), 3);
    keep_newest(folder_, 3, 11);
    EXPECT_EQ(count(), 2);
}

TEST_F(QueueTest, TheHostLockExcludesEvenOtherDatabases) {
    submit();
    const auto lock = HostLock::acquire(0, folder_ + "/lock");
    ASSERT_TRUE(lock.has_value());
    Worker worker(options());
    EXPECT_EQ(worker.work_one([&](Job& running) { return measure(running); }).end,
              WorkEnd::host_busy);
}

TEST(HostId, MachinesOfOneImageDifferByTheirCpu) {
    const Fingerprint here = machine_fingerprint();
    EXPECT_EQ(host_id("image", here), host_id("image", here));
    EXPECT_NE(host_id("image", here), host_id("another", here));
    for (const char* key : {"cpu_model", "cpu_flags_sha256"}) {
        Fingerprint there = here;
        there.at(key) += " of another generation";
        EXPECT_NE(host_id("image", there), host_id("image", here)) << key;
    }
    Fingerprint updated = here;
    updated.at("kernel") = "Linux 99";
    EXPECT_EQ(host_id("image", updated), host_id("image", here)) << "an update is no move";
}

TEST_F(QueueTest, AnOrphanedChildKeepsTheHostLock) {
    const std::string path = folder_ + "/lock";
    auto lock = HostLock::acquire(0, path);
    ChildOptions options;
    options.argv = {"/bin/sleep", "60"};
    options.host_lock_fd = lock->fd();
    {
        const Child child(options);
        lock.reset();
        EXPECT_FALSE(HostLock::acquire(0, path).has_value()) << "the child still measures";
    }
    EXPECT_TRUE(HostLock::acquire(1, path).has_value());
}

TEST_F(QueueTest, AnotherMachineIsNotMixedIn) {
    const auto job = submit();
    Worker worker(options());
    worker.work_one([&](Job& running) -> JobResult {
        running.put_fingerprint({{"kernel", "1"}});
        measure(running, 2);
        throw Error{"gone", kExitInternal};
    });
    sql("update steady.job set run_after = clock_timestamp()");
    const auto worked = worker.work_one([&](Job& running) -> JobResult {
        running.put_fingerprint({{"kernel", "2"}});
        return measure(running);
    });
    EXPECT_EQ(worked.end, WorkEnd::failed);
    EXPECT_THAT(store_.load_record(job.id).note, ::testing::HasSubstr("kernel"));
}

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
