// The private PostgreSQL as its users meet it: first start, joining, eight starters at once, death
// of the starter in the middle of initdb, a stale pid file, orphan backends, long paths.
// One directory per test under /tmp, since the server's user must be able to enter it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "kernels/base/error.h"
#include "runner/platform/files.h"
#include "runner/storage/cluster_server.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/private_cluster.h"
#include "tests/support/loop_disk.h"

namespace steady {
namespace {

using std::chrono::milliseconds;

class Cluster : public ::testing::Test {
protected:
    Cluster() : base_(scratch_dir() + "/steady-test-" + random_hex(6)) {}
    ~Cluster() override {
        stop();
        std::error_code error;
        std::filesystem::remove_all(base_, error);
    }
    void stop() {
        try {
            stop_private_cluster(base_);
        } catch (const Error& error) {
            ADD_FAILURE() << error.what();
        }
    }
    std::string start() { return private_cluster_url({.base_dir = base_, .idle_stop_s = 60}); }

    std::string base_;
};

int count(const std::string& url, const std::string& query) {
    pqxx::connection connection(url);
    pqxx::work work(connection);
    return work.exec(query)[0][0].as<int>();
}

// Runs `body` in a child that exits 0 when it returns.
template <typename Body>
pid_t in_child(Body body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    try {
        body();
    } catch (const std::exception& error) {
        fmt::print(stderr, "child: {}\n", error.what());
        ::_exit(1);
    }
    ::_exit(0);
}

int wait_for(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

TEST_F(Cluster, StartsStopsAndKeepsItsRows) {
    const std::string url = start();
    count(url, "create table t(x int); insert into t values (7); select 1");
    EXPECT_TRUE(private_cluster_status(base_).running);
    EXPECT_TRUE(stop_private_cluster(base_));
    EXPECT_FALSE(private_cluster_status(base_).running);
    EXPECT_FALSE(stop_private_cluster(base_));
    EXPECT_EQ(start(), url);
    EXPECT_EQ(count(url, "create table if not exists t(x int); select count(*) from t"), 0)
        << "the first transaction was not committed, so its table must be gone";
}

TEST_F(Cluster, ReadyOnceIsNotTriedAgain) {
    const std::string url = start();
    const pid_t server = private_cluster_status(base_).pid;
    ::kill(server, SIGSTOP);  // takes no connection now: one that was tried would fail
    EXPECT_EQ(start(), url);
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    start();
    EXPECT_NE(private_cluster_status(base_).pid, server);
    EXPECT_EQ(count(url, "select 1"), 1) << "another life: waited for";
}

TEST_F(Cluster, ADatabaseThatWasDroppedIsMadeAgain) {
    const std::string url = start();
    {
        std::string other = url;
        pqxx::connection connection(other.replace(other.find("/steady?"), 8, "/postgres?"));
        pqxx::nontransaction(connection).exec("drop database steady");
    }
    EXPECT_EQ(start(), url);
    EXPECT_EQ(count(url, "select 1"), 1);
}

TEST_F(Cluster, ListensOnNoNetworkAddress) {
    const std::string url = start();
    EXPECT_EQ(count(url, "select (current_setting('listen_addresses') = '')::int"), 1);
    EXPECT_EQ(count(url, "select (current_setting('synchronous_commit') = 'on')::int"), 1);
    struct stat info {};
    ASSERT_EQ(::stat(private_cluster_status(base_).socket_dir.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(Cluster, EightFirstStartsMakeOneServer) {
    std::vector<pid_t> starters;
    for (int i = 0; i < 8; ++i) {
        starters.push_back(in_child([&] { count(start(), "select 1"); }));
    }
    for (const pid_t pid : starters) EXPECT_EQ(wait_for(pid), 0);
    const auto log = read_file(private_cluster_status(base_).log_path);
    EXPECT_EQ(log.find("FATAL:  lock file"), std::string::npos) << log;
    EXPECT_EQ(count(start(), "select 1"), 1);
}

TEST_F(Cluster, SurvivesDeathOfTheStarterAtAnyPoint) {
    const char* set = std::getenv("STEADY_CLUSTER_KILLS");  // 30 for the long version
    const int n_kills = set == nullptr ? 9 : std::atoi(set);
    for (int i = 1; i <= n_kills; ++i) {
        const int delay_ms = 600 * i / n_kills;
        SCOPED_TRACE(delay_ms);
        std::filesystem::remove_all(base_);
        const pid_t starter = in_child([&] { start(); });
        std::this_thread::sleep_for(milliseconds(delay_ms));
        ::kill(starter, SIGKILL);
        wait_for(starter);
        EXPECT_EQ(count(start(), "select 1"), 1);
        stop();
    }
}

TEST_F(Cluster, GivesAwayADirectoryThatADeadStarterLeft) {
    const auto layout = cluster::find_layout(base_);
    if (!layout.run_as) GTEST_SKIP() << "only root makes directories for another user";
    std::filesystem::create_directories(layout.home);  // made, and death before the change of owner
    std::filesystem::create_directories(layout.socket_dir);
    EXPECT_EQ(count(start(), "select 1"), 1);
}

TEST_F(Cluster, StartsOverAStalePidFileWhoseIdWasReused) {
    start();
    const auto status = private_cluster_status(base_);
    const std::string pid_file = status.data_dir + "/postmaster.pid";
    const std::string text = read_file(pid_file);
    stop();
    const pid_t stranger = in_child([] { ::pause(); });  // a live process that is no PostgreSQL
    {
        std::ofstream file(pid_file);
        file << stranger << text.substr(text.find('\n'));
    }
    if (const auto user = cluster::find_layout(base_).run_as) {
        ASSERT_EQ(::chown(pid_file.c_str(), user->uid, user->gid), 0);
    }
    EXPECT_EQ(count(start(), "select 1"), 1);
    ::kill(stranger, SIGKILL);
    wait_for(stranger);
}

TEST_F(Cluster, EndsBackendsThatOutlivedTheirPostmaster) {
    const std::string url = start();
    pqxx::connection orphan(url);
    pqxx::nontransaction work(orphan);
    const pid_t backend = orphan.backendpid();
    ::kill(backend, SIGSTOP);  // stopped, it cannot notice that its postmaster is gone
    const pid_t postmaster = private_cluster_status(base_).pid;
    ::kill(postmaster, SIGKILL);
    ::waitpid(postmaster, nullptr, 0);
    EXPECT_EQ(count(start(), "select 1"), 1);
}

// As a backend does that is ending: no longer to be known by its command line, but its memory is
// not yet unmapped.
TEST_F(Cluster, WaitsForMemoryOfADeadServerThatIsStillHeld) {
    start();
    const ClusterStatus status = private_cluster_status(base_);
    std::ifstream file(status.data_dir + "/postmaster.pid");
    std::string line;
    for (int i = 0; i < 7; ++i) std::getline(file, line);
    const int segment = std::stoi(line.substr(line.find_last_of(' ')));
    void* memory = ::shmat(segment, nullptr, SHM_RDONLY);
    ASSERT_NE(memory, reinterpret_cast<void*>(-1));
    const pid_t holder = ::fork();  // which has it too
    if (holder == 0) {
        ::usleep(500'000);
        ::_exit(0);
    }
    ::shmdt(memory);
    ::kill(status.pid, SIGKILL);
    ::waitpid(status.pid, nullptr, 0);
    EXPECT_EQ(count(start(), "select 1"), 1);
    ::waitpid(holder, nullptr, 0);
}

TEST_F(Cluster, CommittedRowsSurviveKillOfThePostmaster) {
    const std::string url = start();
    {
        pqxx::connection connection(url);
        pqxx::work work(connection);
        work.exec("create table t as select generate_series(1, 1000)");
        work.commit();
    }
    const pid_t postmaster = private_cluster_status(base_).pid;
    ::kill(postmaster, SIGKILL);
    ::waitpid(postmaster, nullptr, 0);
    EXPECT_EQ(count(start(), "select count(*) from t"), 1000);
}

TEST_F(Cluster, WorksUnderAPathLongerThanASocketMayBe) {
    base_ += "/" + std::string(120, 'x');
    EXPECT_EQ(count(start(), "select 1"), 1);
    EXPECT_LE(private_cluster_status(base_).socket_dir.size(), 93U);
    stop();
}

// A small file system of its own, which the test fills to the last byte.
class FullDisk : public Cluster {
protected:
    void SetUp() override {
        std::filesystem::create_directories(base_);
        if (disk_.why_not().empty()) return;
        fmt::print("{}: tmpfs stands for a disk\n", disk_.why_not());
        if (::mount("none", base_.c_str(), "tmpfs", 0, "size=96m,mode=0755") != 0) {
            GTEST_SKIP() << "SKIPPED: mounting needs root";
        }
        in_memory_ = true;
    }
    void TearDown() override {
        stop();
        if (in_memory_) ::umount2(base_.c_str(), MNT_DETACH);
    }
    void fill() {
        std::ofstream file(base_ + "/ballast", std::ios::binary);
        const std::string block(1 << 16, 'x');
        while (file.write(block.data(), 1 << 16).flush()) {
        }
        file.clear();
        for (int i = 0; i < 1 << 16 && file.put('x').flush(); ++i) {
        }
    }
    void free_space() { std::filesystem::remove(base_ + "/ballast"); }
    // Rows of t in the database that a machine would find after a power cut now; -1: it does not
    // come up.
    int rows_after_power_cut() {
        const std::string place = disk_.after_power_cut();
        int rows = -1;
        try {
            const std::string url = private_cluster_url({.base_dir = place, .idle_stop_s = 60});
            rows = count(url, "select count(*) from t");
        } catch (const std::exception& error) {
            fmt::print("{}\n", error.what());
        }
        stop_private_cluster(place);
        return rows;
    }

    bool in_memory_ = false;
    test::LoopDisk disk_{base_ + ".img", base_, 112};
};

TEST_F(FullDisk, AFirstStartSaysSoAndWorksOnceThereIsRoom) {
    fill();
    try {
        start();
        FAIL() << "started on a full disk";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("no space left: 0 MB free"));
        EXPECT_THAT(error.what(), ::testing::HasSubstr(base_));
    }
    free_space();
    EXPECT_EQ(count(start(), "select 1"), 1);
}

TEST_F(FullDisk, ARunningServerRefusesAndKeepsWhatItHas) {
    const std::string url = start();
    pqxx::connection connection(url);
    const auto execute = [&](const std::string& query) {
        pqxx::work work(connection);
        work.exec(query);
        work.commit();
    };
    execute("create table t as select generate_series(1, 1000) as x");
    fill();
    EXPECT_THROW(execute("insert into t select generate_series(1, 2000000)"), pqxx::failure);
    free_space();
    EXPECT_EQ(count(start(), "select count(*) from t"), 1000);
    EXPECT_EQ(count(start(),
                    "with more as (insert into t values (1) returning 1) "
                    "select count(*) from more"),
              1);
}

// With fsync off the same look must find a loss.
TEST_F(FullDisk, APowerCutKeepsEveryCommit) {
    if (!disk_.why_not().empty()) GTEST_SKIP() << "SKIPPED: " << disk_.why_not();
    const std::string url = start();
    const auto execute = [&](const std::string& query) {
        pqxx::connection connection(url);
        pqxx::nontransaction(connection).exec(query);
    };
    execute("create table t (n int)");
    // The copy below is not made at one instant: what initdb wrote must lie still.
    const Fd folder{::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_EQ(::syncfs(folder.get()), 0);
    int written = 0;
    const auto rows_after_next = [&] {
        execute("insert into t values (1)");
        ++written;
        return rows_after_power_cut();
    };
    for (int i = 0; i < 3; ++i) {
        int found = rows_after_next();
        for (int again = 0; again < 3 && found != written; ++again) found = rows_after_power_cut();
        EXPECT_EQ(found, written) << "a commit that was acknowledged";
    }
    execute("alter system set fsync = off");
    execute("select pg_reload_conf()");
    while (count(url, "select (current_setting('fsync') = 'off')::int") == 0) {
    }
    bool lost = false;
    for (int i = 0; i < 10 && !lost; ++i) lost = rows_after_next() < written;
    EXPECT_TRUE(lost) << "this test sees no loss";
}

TEST_F(Cluster, NamesTheClosedDirectory) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root drops to another user";
    std::filesystem::create_directories(base_ + "/closed");
    ::chmod((base_ + "/closed").c_str(), 0700);
    try {
        private_cluster_url({.base_dir = base_ + "/closed/state"});
        FAIL() << "started below a directory that the server's user cannot enter";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr(base_ + "/closed"));
        EXPECT_THAT(error.what(), ::testing::HasSubstr("STEADY_STATE_DIR"));
    }
}

TEST_F(Cluster, StopsWhenNobodyUsesIt) {
    private_cluster_url({.base_dir = base_, .idle_stop_s = 1});
    for (int i = 0; i < 600 && private_cluster_status(base_).running; ++i) {
        std::this_thread::sleep_for(milliseconds(100));
    }
    EXPECT_FALSE(private_cluster_status(base_).running);
}

TEST_F(Cluster, StaysWhileAClientIsConnected) {
    const std::string url = private_cluster_url({.base_dir = base_, .idle_stop_s = 1});
    const pqxx::connection client(url);
    std::this_thread::sleep_for(milliseconds(4000));
    EXPECT_TRUE(private_cluster_status(base_).running);
}

}  // namespace
}  // namespace steady
