// A hostile program, once free and once confined. Free, each attempt must work: that is the proof
// that the attempt is real and that the confinement, not luck, stops it. As root both ways of
// confining are tested: the one for a worker of root and the one for any other user.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "runner/platform/measured_process.h"
#include "runner/platform/process.h"
#include "runner/programs/command/turns.h"
#include "runner/programs/confine/confine.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kHostile = STEADY_BIN_DIR "/steady-hostile";

// Free: nothing between the program and the machine, and root's rights where the test has them.
int run_free(const Words& words, const std::optional<Identity>& run_as = {}) {
    SpawnPlan plan;
    plan.argv = words;
    plan.env = child_environment();
    plan.run_as = run_as;
    plan.no_new_privileges = false;
    const pid_t pid = spawn(plan);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

class Confined : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
        if (by_root() && ::geteuid() != 0) GTEST_SKIP() << "needs root";
        folder_ = "/tmp/steady-confine-" + random_hex(6);
        for (const char* part : {"tree", "state", "open"}) fs::create_directories(path(part));
        fs::copy_file(kHostile, path("tree/hostile"));
        std::ofstream(path("state/secret")) << "secret";
        ::chmod(path("open").c_str(), 0777);
        confinement_.by_root = by_root();
        // As another user root's systemd cannot be asked; such a worker would ask its own.
        if (!by_root() && ::geteuid() == 0 && tree_means().kind == TreeKind::systemd_scope) {
            confinement_.means = &none_;
        }
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    static bool by_root() { return GetParam(); }
    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    std::string hostile() const { return path("tree/hostile"); }

    ChildOptions confined(const Words& words) const {
        ChildOptions options;
        options.argv = words;
        options.directory = path("tree");
        options = steady::confined(options, confinement_);
        options.term_grace_s = 0.3;
        if (!by_root() && ::geteuid() == 0) options.run_as = find_user("nobody");
        return options;
    }
    int run_confined(const Words& words) const {
        const ChildEnd end = run_child(confined(words), 30);
        EXPECT_EQ(end.ending, Ending::exited) << end.describe();
        EXPECT_LE(end.code, 1) << "the attempt was not made: " << end.describe();
        return end.code;
    }
    // The attempt works when free and fails when confined.
    void expect_stopped(const std::string& verb, const Words& words) const {
        Words all{hostile(), verb};
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(run_free(all), 0) << verb << " does not even work free";
        EXPECT_EQ(run_confined(all), 1) << verb << " worked";
    }
    void expect_works(const std::string& verb, const Words& words) const {
        Words all{hostile(), verb};
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(run_confined(all), 0) << verb << " should work";
    }

    const TreeMeans none_{};
    Confinement confinement_;
    std::string folder_;
};

INSTANTIATE_TEST_SUITE_P(Ways, Confined, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "ByRoot" : "ByUser"; });

TEST_P(Confined, RunsOnTheCpusOfItsRegistration) {
    const auto allowed = [&] {
        const ChildEnd end =
            run_child(confined({"/usr/bin/grep", "Cpus_allowed_list", "/proc/self/status"}), 30);
        EXPECT_TRUE(end.ok()) << end.describe();
        return end.out;
    };
    confinement_.cpus = "0";
    EXPECT_EQ(allowed(), "Cpus_allowed_list:\t0\n");
    EXPECT_EQ(describe_cpus(confinement_), "0, by affinity (taskset)");
    for (const char* none : {"4000", "1-0", "0,4000"}) {
        confinement_.cpus = none;
        EXPECT_THROW(confined({"/usr/bin/true"}), Error) << none;
    }
}

TEST_P(Confined, CannotReachTheDatabase) {
    const ThrowawayDatabase database;
    const std::string& url = database.url();
    const std::size_t at = url.find("host=") + 5;
    const std::string socket = url.substr(at, url.find('&', at) - at) + "/.s.PGSQL.5432";
    expect_stopped("unix", {socket});
}

TEST_P(Confined, CannotReadStateNorOtherBuilds) {
    expect_stopped("read", {path("state/secret")});
    expect_stopped("read", {path("state")});
    expect_stopped("read", {"/etc/machine-id"});
    expect_stopped("read", {fs::path(kHostile).parent_path()});
    expect_works("read", {hostile()});
}

TEST_P(Confined, CannotWriteItsTreeNorTheSystem) {
    expect_stopped("write", {path("open/file")});
    ::chmod(path("tree").c_str(), 0777);
    expect_stopped("write", {path("tree/file")});
    if (::geteuid() == 0) expect_stopped("write", {"/usr/steady-hostile-was-here"});
    std::error_code ignored;
    fs::remove("/usr/steady-hostile-was-here", ignored);
    expect_works("write", {"/tmp/scratch"});
}

TEST_P(Confined, SeesWhatProgramsNeed) {
    for (const char* path : {"/etc/ld.so.cache", "/etc/passwd", "/sys/devices/system/cpu/online",
                             "/usr/bin/env", "/bin/sh", "/proc/self/status", "/dev/null"}) {
        if (!fs::exists(path)) continue;
        EXPECT_EQ(run_confined({"/bin/sh", "-c", "exec < \"$0\"", path}), 0) << path;
    }
    // Through /etc/alternatives, where there are any.
    EXPECT_EQ(run_confined({"/bin/sh", "-c", "cc --version"}), 0);
}

TEST_P(Confined, WritesWhatItIsGiven) {
    confinement_.writable = {path("open")};
    expect_works("write", {path("open/file")});
    EXPECT_TRUE(fs::exists(path("open/file")));
}

TEST_P(Confined, CannotReachTheNetworkUnlessAllowed) {
    const Fd server{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(server.get(), 8), 0);
    ::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size);
    const std::string port = std::to_string(ntohs(address.sin_port));
    expect_stopped("tcp", {port});
    confinement_.network = true;
    expect_works("tcp", {port});
}

TEST_P(Confined, SeesNoSecretOfTheEnvironment) {
    const std::string word = "canary" + random_hex(8);
    SpawnPlan holder;  // a process of ours with a secret, as the worker is one
    holder.argv = {"/bin/sleep", "60"};
    holder.env = {{"STEADY_DATABASE_URL", word}};
    const pid_t pid = spawn(holder);
    ::setenv("STEADY_DATABASE_URL", word.c_str(), 1);
    expect_stopped("secret", {word});
    expect_stopped("signal", {std::to_string(pid)});
    ::unsetenv("STEADY_DATABASE_URL");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

TEST_P(Confined, GetsTheVariablesThatItIsGiven) {
    const std::string word = "given" + random_hex(8);
    confinement_.env = {{"SETTING", word}};
    expect_works("secret", {word});
    std::set<std::string> expected{"SETTING=" + word}, found;
    for (const auto& [name, value] : confined_environment()) expected.insert(name + "=" + value);
    std::stringstream lines(run_child(confined({"/usr/bin/env"}), 30).out);
    for (std::string line; std::getline(lines, line);) found.insert(line);
    EXPECT_EQ(found, expected);
}

TEST_P(Confined, NeitherIsNorBecomesRoot) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file that makes root";
    expect_stopped("root", {});
    EXPECT_EQ(run_confined({"/usr/bin/grep", "-q", "NoNewPrivs:.1", "/proc/self/status"}), 0);
    expect_stopped("mount", {path("open")});
    run_free({"/bin/umount", path("open")});
    const std::string file = path("tree/setuid");
    fs::copy_file(kHostile, file);
    ASSERT_EQ(::chmod(file.c_str(), 04755), 0);
    EXPECT_EQ(run_free({hostile(), "become", file}, find_user("nobody")), 0);
    EXPECT_EQ(run_confined({hostile(), "become", file}), 1);
}

// Bytes that a process left behind has written by now, and a moment later.
bool still_beating(const std::string& file) {
    for (int i = 0; i < 200 && !fs::exists(file); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const auto size = fs::exists(file) ? fs::file_size(file) : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return fs::exists(file) && fs::file_size(file) > size;
}

// Ends the processes that beat into the file: those of the free run, which nothing else ends.
void end_beating(const std::string& file) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string words = read_line_or_empty(entry.path() / "cmdline");
        if (words.find("beat") != std::string::npos && words.find(file) != std::string::npos) {
            ::kill(std::atoi(entry.path().filename().c_str()), SIGKILL);
        }
    }
}

TEST_P(Confined, LeavesNothingRunning) {
    const std::string free_file = path("open/free"), confined_file = path("open/confined");
    EXPECT_EQ(run_free({hostile(), "outlive", free_file}), 0);
    EXPECT_TRUE(still_beating(free_file)) << "free, it should outlive its job";
    end_beating(free_file);

    confinement_.writable = {path("open")};
    EXPECT_EQ(run_confined({"/bin/sh", "-c",
                            fmt::format("{0} outlive {1}; while [ ! -s {1} ]; do :; done",
                                        hostile(), confined_file)}),
              0);
    EXPECT_TRUE(fs::exists(confined_file));
    EXPECT_FALSE(still_beating(confined_file)) << "it outlives its job";
    end_beating(confined_file);
}

TEST_P(Confined, AForkBombEnds) {
    confinement_.processes = 40;
    expect_stopped("forks", {"200"});
    const auto* group = std::exchange(confinement_.means, &none_);  // the limit of the user alone
    expect_stopped("forks", {"200"});
    confinement_.means = group;
    ChildOptions options = confined({hostile(), "bomb"});
    const ChildEnd end = run_child(options, 1);
    EXPECT_EQ(end.ending, Ending::timeout);
    int left = 1;
    for (int i = 0; i < 300 && left > 0; ++i) {  // the kernel takes a moment to bury them
        left = 0;
        for (const auto& entry : fs::directory_iterator("/proc")) {
            left +=
                read_line_or_empty(entry.path() / "cmdline").find(hostile()) != std::string::npos;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(left, 0);
}

// The launcher that times the program runs beside it, as the same user.
TEST_P(Confined, CannotStopItsClock) {
    MeasuredCommand command;
    command.argv = {hostile(), "freeze"};
    command.directory = path("tree");
    command.time_limit_s = 0.3;
    confinement_.readable = {launcher_path()};
    command.prefix = confinement_prefix(confinement_, path("tree"));
    if (!by_root() && ::geteuid() == 0) command.run_as = find_user("nobody");
    EXPECT_EQ(run_measured(command).end.ending, Ending::timeout);
}

// Every way of running a command passes through the confinement.
TEST_P(Confined, HoldsInLockstepToo) {
    if (!by_root() && ::geteuid() == 0) GTEST_SKIP() << "runs as this user";
    CommandLine line;
    line.argv = {hostile(), "write", path("open/mark")};
    line.directory = path("tree");
    line.timeout_s = 5;
    const auto turn = [&] {
        EXPECT_THROW(measure_turns(
                         {}, {}, "0", [&] { return line; }, [&] { return line; }),
                     RunFailed);
    };
    turn();
    EXPECT_TRUE(fs::remove(path("open/mark"))) << "free, it should work";
    line.confinement = confinement_;
    turn();
    EXPECT_FALSE(fs::exists(path("open/mark")));
}

// Every measured program keeps the host's lock open, so that nothing else measures while it lives;
// one of somebody else could undo it.
TEST_P(Confined, CannotUndoTheHostsLock) {
    if (!by_root() && ::geteuid() == 0) GTEST_SKIP() << "runs as this user";
    const Fd lock{::open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    CommandLine line;
    line.argv = {hostile(), "unlock"};
    line.directory = path("tree");
    line.timeout_s = 20;
    line.host_lock_fd = lock.get();
    EXPECT_TRUE(run_command(line).end.exited_with(0)) << "free, it holds the lock";
    line.confinement = confinement_;
    EXPECT_TRUE(run_command(line).end.exited_with(1)) << "it worked";
}

TEST_P(Confined, MemoryAndScratchHaveLimits) {
    confinement_.memory_bytes = std::uint64_t{64} << 20U;
    expect_stopped("memory", {std::to_string(256 << 20)});
    confinement_.scratch_bytes = std::uint64_t{4} << 20U;
    expect_stopped("fill", {"/tmp/steady-hostile-fill", std::to_string(8 << 20)});
    expect_stopped("fill", {"/dev/shm/steady-hostile-fill", std::to_string(8 << 20)});
    confinement_.scratch_bytes = std::uint64_t{64} << 20U;
    expect_works("fill", {"/tmp/steady-hostile-fill", std::to_string(8 << 20)});
    confinement_.file_bytes = std::uint64_t{4} << 20U;
    const ChildEnd end = run_child(
        confined({hostile(), "fill", "/tmp/steady-hostile-fill", std::to_string(8 << 20)}), 30);
    EXPECT_FALSE(end.ok()) << "one file may be larger than the limit";
}

// Each of four has less than the limit, together they have twice as much.
TEST_P(Confined, MemoryIsLimitedForAllProcessesTogether) {
    if (!confinement_.means->memory) GTEST_SKIP() << describe(*confinement_.means);
    confinement_.memory_bytes = std::uint64_t{64} << 20U;
    expect_stopped("memories", {"4", std::to_string(32 << 20)});
    expect_works("memories", {"2", std::to_string(16 << 20)});
    confinement_.means = &none_;
    expect_works("memories", {"4", std::to_string(32 << 20)});
}

TEST_P(Confined, ItsGroupGoesWithIt) {
    const TreeMeans& means = *confinement_.means;
    if (means.folders.empty()) GTEST_SKIP() << describe(means);
    const auto groups = [&] {
        std::size_t n = 0;
        for (const std::string& folder : means.folders) {
            for (const auto& entry : fs::directory_iterator(folder)) {
                n += entry.path().filename().string().starts_with(
                    fmt::format("steady-{}-", ::getpid()));
            }
        }
        return n;
    };
    const auto become = [&](std::size_t n) {  // systemd takes a moment to make and remove its own
        for (int i = 0; i < 500 && groups() != n; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return groups() == n;
    };
    {
        Child child(confined({"/bin/sleep", "30"}));
        EXPECT_TRUE(become(means.folders.size()));
    }
    EXPECT_TRUE(become(0));
}

TEST(Confinement, ShowsNothingThatHoldsWhatStaysHidden) {
    for (const char* folder : {"/", "/tmp", "/etc", "/dev", "/run", "relative", "/no/such"}) {
        Confinement confinement;
        confinement.readable = {folder};
        EXPECT_THROW(confinement_prefix(confinement, "/usr"), Error) << folder;
    }
    EXPECT_THROW(confinement_prefix({}, fs::path(state_dir()).parent_path()), Error);
}

}  // namespace
}  // namespace steady
