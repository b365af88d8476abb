// A worker and its machine: the host lock, disks that are small, full or in the way, clones, noise.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runner/platform/disk.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/noise.h"
#include "tests/runner/queue_fixture.h"

namespace steady {
namespace {

TEST_F(QueueTest, TheSpoolOfAnAttemptIsBounded) {
    const Lease lease{.job = 1, .epoch = 1, .host = 1, .worker = random_uuid(), .id = "large"};
    Spool spool(folder_ + "/spool", lease, 2000);
    int n = 0;
    try {
        for (; n < 100; ++n) spool.add(measured(example_plan(1)[1]), "");
        ADD_FAILURE() << "a hundred pairs in 2000 bytes";
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code, kExitUsage);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("measure fewer pairs"));
    }
    EXPECT_GT(n, 0);
    EXPECT_LE(std::filesystem::file_size(spool.path()), 2000U);
}

TEST_F(QueueTest, NoJobIsTakenOnASmallDisk) {
    const auto job = submit();
    WorkerOptions small = options();
    std::filesystem::create_directories(small.spool_dir);
    if (::mount("none", small.spool_dir.c_str(), "tmpfs", 0, "size=1m") != 0) {
        GTEST_SKIP() << "SKIPPED: mounting needs root";
    }
    Worker worker(small);
    const Worked worked = worker.work_one([&](Job& mine) { return measure(mine); });
    ::umount2(small.spool_dir.c_str(), MNT_DETACH);
    EXPECT_EQ(worked.end, WorkEnd::nothing);
    EXPECT_THAT(worked.note, ::testing::HasSubstr("no job is taken"));
    EXPECT_EQ(store_.load_record(job.id).state, "queued");
    EXPECT_EQ(measured_, 0);
}

TEST_F(QueueTest, AStopEndsTheWaitForTheHostLock) {
    submit();
    const auto held = HostLock::acquire(0, folder_ + "/lock");
    StopSignal shutdown;
    WorkerOptions patient = options();
    patient.host_lock_wait_s = 3600;
    patient.shutdown = &shutdown;
    std::vector<std::string> said;
    patient.message = [&](const std::string& line) {
        said.push_back(line);
        shutdown.raise();
    };
    Worker worker(patient);
    const Worked worked = worker.work_one([&](Job& mine) { return measure(mine); });
    ASSERT_EQ(said.size(), 1U) << "whoever waits is told, once";
    EXPECT_THAT(said[0], ::testing::HasSubstr(folder_ + "/lock"));
    EXPECT_EQ(worked.end, WorkEnd::released);
    EXPECT_EQ(measured_, 0);
}

TEST(Noise, StealAndOtherProgramsEachDiscard) {
    EXPECT_EQ(noise_reason(0, 0), "");
    EXPECT_EQ(noise_reason(kMostSteal, kMostBusyOthers), "") << "the bound itself is allowed";
    EXPECT_THAT(noise_reason(kMostSteal + 0.01, 0), ::testing::HasSubstr("steal"));
    EXPECT_THAT(noise_reason(0, kMostBusyOthers + 0.01), ::testing::HasSubstr("other processes"));
}

TEST(Noise, AStopEndsTheWaitForQuiet) {
    StopSignal stop;
    stop.raise();
    EXPECT_EQ(wait_until_quiet(3600, &stop), "stopped");
}

TEST_F(QueueTest, ASpoolFolderThatCannotBeMadeIsWaitedFor) {
    submit();
    std::ofstream(folder_ + "/file") << "in the way";
    StopSignal stop;
    std::string said;
    WorkerOptions blocked = options();
    blocked.spool_dir = folder_ + "/file/spool";
    blocked.shutdown = &stop;
    blocked.message = [&](const std::string& line) {
        said += line + "\n";
        std::filesystem::remove(folder_ + "/file");  // an operator mends it
    };
    Worker worker(blocked);
    worker.work([&](Job& mine) { return measure(mine); },
                [&](Store&, const std::string&) { stop.raise(); });
    EXPECT_THAT(said, ::testing::HasSubstr(folder_ + "/file"));
    EXPECT_EQ(measured_, 12);
}

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

}  // namespace
}  // namespace steady
