// Hostile children: each does one thing that a benchmarked program may do to its runner. The child
// is /bin/sh where a few words say it best; the runner itself never uses a shell.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/platform/process.h"
#include "tests/support/process_alive.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

ChildOptions sh(const std::string& script) {
    ChildOptions options;
    options.argv = {"/bin/sh", "-c", script};
    options.term_grace_s = 0.3;
    return options;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// A signal that was sent may still have to be delivered.
bool gone(pid_t pid) {
    for (int i = 0; i < 200 && alive(pid); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return !alive(pid);
}

pid_t pid_from(const std::string& text) { return std::atoi(text.c_str()); }

class TempDir {
public:
    TempDir() : path_("/tmp/steady-proc-" + random_hex(6)) {
        std::filesystem::create_directories(path_);
    }
    ~TempDir() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

TEST(ProcessTest, LinesGoBothWays) {
    Child child(sh("while read x; do echo got:$x; done; exit 3"));
    ASSERT_TRUE(child.write_line("one"));
    EXPECT_EQ(child.read_line(5), "got:one");
    ASSERT_TRUE(child.write_line("two"));
    EXPECT_EQ(child.read_line(5), "got:two");
    const auto end = child.finish(5);
    EXPECT_EQ(end.ending, Ending::exited);
    EXPECT_EQ(end.code, 3);
    EXPECT_EQ(end.outcome(), "crash");
}

TEST(ProcessTest, ArgumentsAreNeverInterpreted) {
    const TempDir folder;
    for (const std::string& nasty :
         {std::string("; touch x"), std::string("$(touch x)"), std::string("`touch x`"),
          std::string("a\nb"), std::string("-n"), std::string("*"), std::string("> x")}) {
        ChildOptions options;
        options.argv = {"/usr/bin/printf", "%s", nasty};
        options.directory = folder.path();
        EXPECT_EQ(run_child(options, 5).out, nasty);
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProcessTest, ProgramsAreAbsoluteAndUnderTheRoots) {
    ChildOptions options;
    options.argv = {"sh"};
    EXPECT_THROW(Child{options}, Error);
    options.argv = {"/bin/sh", "-c", "true"};
    options.roots = {"/opt/bench"};
    EXPECT_THROW(Child{options}, Error);
    const TempDir folder;  // a link out of the root is followed before it is judged
    std::filesystem::create_symlink("/bin/sh", folder.path() + "/link");
    options.argv[0] = folder.path() + "/link";
    options.roots = {folder.path()};
    EXPECT_THROW(Child{options}, Error);
    options.roots = {"/usr", "/bin"};
    EXPECT_TRUE(run_child(options, 5).ok());
}

TEST(ProcessTest, TheHashedFileIsTheOneThatRuns) {
    const TempDir folder;
    const std::string program = folder.path() + "/program";
    std::filesystem::copy_file("/bin/true", program);
    ChildOptions options;
    options.argv = {program};
    const Fd fd{::open(program.c_str(), O_RDONLY | O_CLOEXEC)};
    options.sha256 = sha256_hex_of(fd.get(), program);
    EXPECT_TRUE(run_child(options, 5).ok());
    std::filesystem::remove(program);
    std::filesystem::copy_file("/bin/false", program);
    EXPECT_THROW(Child{options}, Error);
}

TEST(ProcessTest, OfOurEnvironmentNothingIsInherited) {
    ::setenv("STEADY_DATABASE_URL", "postgresql://canary:canary@x/y", 1);
    ::setenv("GITHUB_TOKEN", "canary", 1);
    ChildOptions options;
    options.argv = {"/usr/bin/env"};
    options.env = {{"OMP_NUM_THREADS", "2"}, {"LD_PRELOAD", "/tmp/canary.so"}};
    const auto end = run_child(options, 5);
    EXPECT_THAT(end.out, HasSubstr("OMP_NUM_THREADS=2"));
    EXPECT_THAT(end.out, Not(HasSubstr("canary")));
    ::unsetenv("STEADY_DATABASE_URL");
    ::unsetenv("GITHUB_TOKEN");
}

TEST(ProcessTest, OnlyTheHostLockIsInherited) {
    const Fd secret{::open("/dev/null", O_RDWR)};  // not even close-on-exec
    const Fd lock{::open("/dev/zero", O_RDWR | O_CLOEXEC)};
    auto options = sh("ls -l /proc/self/fd; ulimit -c");
    options.host_lock_fd = lock.get();
    const auto end = run_child(options, 5);
    EXPECT_THAT(end.out, HasSubstr(fmt::format("{} -> /dev/zero", lock.get())));
    EXPECT_THAT(end.out, Not(HasSubstr(fmt::format(" {} -> /dev/null", secret.get()))));
    EXPECT_THAT(end.out, ::testing::EndsWith("\n0\n")) << "no core dumps";
}

TEST(ProcessTest, AHangEndsAtTheDeadline) {
    const auto start = Clock::now();
    Child child(sh("sleep 60"));
    EXPECT_EQ(child.read_line(0.2), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "timeout");
    EXPECT_LT(seconds_since(start), 40);
}

TEST(ProcessTest, AChildThatIgnoresTermIsKilled) {
    const auto start = Clock::now();
    Child child(sh("trap '' TERM; echo up; while true; do sleep 0.05; done"));
    ASSERT_EQ(child.read_line(5), "up");
    EXPECT_EQ(child.read_line(0.1), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "timeout");
    EXPECT_LT(seconds_since(start), 40);
}

TEST(ProcessTest, AStoppedChildIsKilled) {
    Child child(sh("echo up; kill -STOP $$; echo never"));
    ASSERT_EQ(child.read_line(5), "up");
    EXPECT_EQ(child.read_line(0.2), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "timeout");
}

TEST(ProcessTest, NothingOfTheGroupStays) {
    Child child(sh("sleep 61 & echo $!; wait"));
    const pid_t grandchild = pid_from(child.read_line(5).value_or(""));
    ASSERT_TRUE(alive(grandchild));
    EXPECT_EQ(child.read_line(0.1), std::nullopt);
    child.finish(5);
    EXPECT_TRUE(gone(grandchild));
}

TEST(ProcessTest, GroupMembersEndWithALeaderThatExitsItself) {
    Child child(sh("sleep 62 & echo $!; exit 0"));
    const pid_t grandchild = pid_from(child.read_line(5).value_or(""));
    EXPECT_EQ(child.finish(5).outcome(), "ok");
    EXPECT_TRUE(gone(grandchild));
}

// Without our word in their environment they can be found by their group alone.
TEST(ProcessTest, GroupMembersWithAnotherEnvironmentEndToo) {
    Child exits(sh("env -i sleep 64 & echo $!; exit 0"));
    const pid_t left = pid_from(exits.read_line(5).value_or(""));
    ASSERT_GT(left, 0);
    EXPECT_EQ(exits.finish(5).outcome(), "ok");
    EXPECT_TRUE(gone(left));

    Child hangs(sh("trap '' TERM; env -i sleep 65 & echo $!; wait"));
    const pid_t stubborn = pid_from(hangs.read_line(5).value_or(""));
    ASSERT_GT(stubborn, 0);
    EXPECT_EQ(hangs.finish(0.2).outcome(), "timeout");
    EXPECT_TRUE(gone(stubborn));
}

TEST(ProcessTest, ADaemonThatLeftTheGroupIsFound) {
    Child child(sh("(setsid sh -c 'echo $$; exec sleep 63' &) ; sleep 0.1"));
    const pid_t daemon = pid_from(child.read_line(5).value_or(""));
    ASSERT_GT(daemon, 0);
    child.finish(5);
    EXPECT_TRUE(gone(daemon));
}

TEST(ProcessTest, TheChildDiesWithItsRunner) {
    std::array<int, 2> pipe_fds{};
    ASSERT_EQ(::pipe(pipe_fds.data()), 0);
    const pid_t runner = ::fork();
    if (runner == 0) {
        Child child(sh("echo $$; sleep 64"));
        const auto line = child.read_line(5).value_or("0") + "\n";
        [[maybe_unused]] const auto n = ::write(pipe_fds[1], line.data(), line.size());
        ::pause();
    }
    std::array<char, 32> text{};
    ASSERT_GT(::read(pipe_fds[0], text.data(), text.size() - 1), 0);
    const pid_t child = pid_from(text.data());
    ASSERT_TRUE(alive(child));
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
    EXPECT_TRUE(gone(child));
}

TEST(ProcessTest, AFloodIsCut) {
    ChildOptions options;
    options.argv = {"/usr/bin/yes"};
    options.term_grace_s = 0.3;
    const auto end = run_child(options, 20);
    EXPECT_EQ(end.outcome(), "output_cap");
    EXPECT_LE(end.out.size(), options.output_cap);
}

TEST(ProcessTest, ALineWithoutEndIsCut) {
    Child child(sh("head -c 1000000000 /dev/zero"));
    EXPECT_EQ(child.read_line(10), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "output_cap");
}

TEST(ProcessTest, StderrKeepsBothEnds) {
    const auto end = run_child(
        sh("echo first >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1"),
        20);
    EXPECT_EQ(end.outcome(), "crash");
    EXPECT_THAT(end.err, ::testing::StartsWith("first"));
    EXPECT_THAT(end.err, ::testing::EndsWith("last\n"));
    EXPECT_LT(end.err.size(), 70000U);
}

TEST(ProcessTest, ClosedOutputIsAProtocolError) {
    Child child(sh("exec >&-; sleep 65"));
    EXPECT_EQ(child.read_line(5), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "protocol");
}

TEST(ProcessTest, HalfALineIsNoLine) {
    Child child(sh("printf half; exit 0"));
    EXPECT_EQ(child.read_line(5), std::nullopt);
    EXPECT_EQ(child.finish(5).out, "half");
}

TEST(ProcessTest, WritingToADeadChildIsNoSignal) {
    Child child(sh("exit 7"));
    EXPECT_EQ(child.read_line(5), std::nullopt);
    bool accepted = true;
    for (int i = 0; i < 100 && accepted; ++i) accepted = child.write_line(std::string(100000, 'x'));
    EXPECT_FALSE(accepted);
    EXPECT_EQ(child.finish(5).code, 7);
}

TEST(ProcessTest, ASignalIsToldFromAnExit) {
    const auto end = run_child(sh("kill -SEGV $$"), 5);
    EXPECT_EQ(end.outcome(), "signal");
    EXPECT_EQ(end.code, SIGSEGV);
    EXPECT_THAT(end.describe(), HasSubstr("signal 11"));
}

TEST(ProcessTest, AStopWakesTheWait) {
    StopSignal stop;
    auto options = sh("echo up; sleep 66");
    options.stop = &stop;
    Child child(options);
    ASSERT_EQ(child.read_line(5), "up");
    std::jthread asker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stop.raise();
    });
    const auto start = Clock::now();
    EXPECT_EQ(child.read_line(60), std::nullopt);
    EXPECT_EQ(child.finish(5).outcome(), "cancelled");
    EXPECT_LT(seconds_since(start), 40);
}

TEST(ProcessTest, OneHogPerLimit) {
    auto options = sh("head -c 3000000 /dev/zero > big");
    const TempDir folder;
    options.directory = folder.path();
    options.limits.file_size = 1 << 20;
    EXPECT_FALSE(run_child(options, 10).ok());
    EXPECT_LE(std::filesystem::file_size(folder.path() + "/big"), 1U << 20U);

    options = sh("while true; do :; done");
    options.limits.cpu_s = 1;
    const auto end = run_child(options, 20);
    EXPECT_EQ(end.outcome(), "signal") << end.describe();

    options = sh("dd if=/dev/zero of=/dev/null bs=200M count=1");
    options.limits.address_space = std::uint64_t{64} << 20U;
    EXPECT_FALSE(run_child(options, 20).ok());

    options = sh("exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null 8</dev/null");
    options.limits.n_files = 6;
    EXPECT_FALSE(run_child(options, 10).ok());
}

TEST(ProcessTest, SecretsInCrashTextAreHidden) {
    const auto end = run_child(sh("echo 'postgresql://kim:hunter2@db/x' >&2; exit 1"), 5);
    EXPECT_THAT(end.describe(), Not(HasSubstr("hunter2")));
}

TEST(ProcessTest, TheRunnerSleepsWhileItWaits) {
    rusage before{}, after{};
    Child child(sh("sleep 0.5; echo done"));
    ::getrusage(RUSAGE_THREAD, &before);
    EXPECT_EQ(child.read_line(5), "done");
    ::getrusage(RUSAGE_THREAD, &after);
    EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 20) << "it polls instead of sleeping";
}

TEST(ProcessTest, ManyChildrenLeaveNoDescriptorBehind) {
    const auto count = [] {
        long n = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            n += entry.path().empty() ? 0 : 1;
        }
        return n;
    };
    run_child(sh("true"), 5);
    const long before = count();
    for (int i = 0; i < 20; ++i) run_child(sh("exit 1"), 5);
    EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace steady
