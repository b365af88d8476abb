// Real commands below steady-launch: what they used, how they ended, and that nothing stays behind.
#include "runner/platform/measured_process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "kernels/base/error.h"
#include "tests/support/process_alive.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Clock = std::chrono::steady_clock;

MeasuredCommand command(std::vector<std::string> argv) {
    MeasuredCommand out;
    out.argv = std::move(argv);
    out.env = {{"PATH", "/usr/bin:/bin"}};
    out.time_limit_s = 60;
    return out;
}

MeasuredCommand sh(const std::string& script) { return command({"/bin/sh", "-c", script}); }

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(MeasuredProcess, EndsAreReported) {
    MeasuredRun run = run_measured(sh("echo out; echo err >&2; exit 7"));
    EXPECT_EQ(run.end.ending, Ending::exited);
    EXPECT_EQ(run.end.code, 7);
    EXPECT_EQ(run.end.out, "out\n");
    EXPECT_EQ(run.end.err, "err\n");
    EXPECT_EQ(run.n_left, 0);

    run = run_measured(sh("kill -SEGV $$"));
    EXPECT_EQ(run.end.ending, Ending::signalled);
    EXPECT_EQ(run.end.code, SIGSEGV);

    EXPECT_TRUE(run_measured(command({"true"})).end.ok());  // found on PATH
}

TEST(MeasuredProcess, WhatCannotStartIsAnError) {
    try {
        run_measured(command({"/nowhere/program"}));
        ADD_FAILURE() << "started";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("cannot start /nowhere/program: No such file"));
    }
    EXPECT_THROW(run_measured(command({})), Error);
    MeasuredCommand elsewhere = command({"true"});
    elsewhere.directory = "/nowhere";
    EXPECT_THROW(run_measured(elsewhere), Error);
}

TEST(MeasuredProcess, EnvironmentDirectoryAndInputAreAsGiven) {
    MeasuredCommand env = command({"/usr/bin/env"});
    env.env["WORD"] = "a b";
    EXPECT_EQ(run_measured(env).end.out, "PATH=/usr/bin:/bin\nWORD=a b\n");
    MeasuredCommand pwd = sh("pwd; cat");
    pwd.directory = "/usr/lib";
    EXPECT_EQ(run_measured(pwd).end.out, "/usr/lib\n");  // nothing to read
    MeasuredCommand input = command({"cat"});
    input.input_file = "/proc/sys/kernel/ostype";
    EXPECT_EQ(run_measured(input).end.out, "Linux\n");
    // Neither our descriptors nor the launcher's are open in the command.
    EXPECT_EQ(run_measured(sh("ls /proc/self/fd | tr '\\n' ' '")).end.out, "0 1 2 3 ");
}

TEST(MeasuredProcess, TimesAreMeasured) {
    const MeasuredRun idle = run_measured(command({"sleep", "0.2"}));
    EXPECT_GE(idle.usage.wall_s, 0.2);
    EXPECT_LT(idle.usage.user_s + idle.usage.system_s, 0.2);
    // A child's child counts as well.
    const MeasuredRun busy =
        run_measured(sh("sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; true"));
    EXPECT_GT(busy.usage.user_s, 0.02);
    EXPECT_GE(busy.usage.wall_s, 0.9 * busy.usage.user_s);
    EXPECT_GT(busy.usage.page_faults, 50);
}

// The runner's own memory must not show: it is larger than what is measured here.
TEST(MeasuredProcess, PeakMemoryIsTheCommandsOwn) {
    constexpr std::size_t kOurs = std::size_t{256} << 20U;
    void* ours = ::mmap(nullptr, kOurs, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(ours, MAP_FAILED);
    const auto peak = [](const std::string& dd_block) {
        return run_measured(command({"dd", "if=/dev/zero", "of=/dev/null", "count=1", dd_block}))
            .usage.peak_memory_bytes;
    };
    const std::int64_t small = peak("bs=4k"), large = peak("bs=64M");
    ::munmap(ours, kOurs);
    EXPECT_LT(small, 16 << 20);
    EXPECT_GT(large, 64 << 20);
    EXPECT_LT(large, 96 << 20);
}

TEST(MeasuredProcess, TheTimeLimitEndsTheWholeTree) {
    MeasuredCommand hanging =
        sh("trap '' TERM; setsid sh -c 'echo $$; exec sleep 100' & sleep 100 & echo $!; echo $$; "
           "wait; sleep 100");
    hanging.time_limit_s = 0.5;
    const auto start = Clock::now();
    const MeasuredRun run = run_measured(hanging);
    EXPECT_LT(seconds_since(start), 20);
    EXPECT_EQ(run.end.ending, Ending::timeout);
    EXPECT_GE(run.usage.wall_s, 0.5);
    std::istringstream pids(run.end.out);
    int n = 0;
    for (pid_t pid = 0; pids >> pid; ++n) EXPECT_FALSE(alive(pid)) << pid;
    EXPECT_EQ(n, 3);
}

TEST(MeasuredProcess, DaemonsAreKilledWithTheCommand) {
    const MeasuredRun run = run_measured(sh(
        "setsid sh -c 'setsid sleep 100 & echo $!; sleep 100' & sleep 100 & echo $!; sleep 0.2"));
    EXPECT_TRUE(run.end.ok());
    EXPECT_GE(run.n_left, 3);
    std::istringstream pids(run.end.out);
    int n = 0;
    for (pid_t pid = 0; pids >> pid; ++n) EXPECT_FALSE(alive(pid)) << pid;
    EXPECT_EQ(n, 2);
    EXPECT_LT(run.usage.wall_s, 20);  // of the command, not of what it left
}

TEST(MeasuredProcess, FloodsAreCut) {
    for (const char* script : {"yes", "yes >&2", "cat /dev/zero"}) {
        MeasuredCommand flood = sh(script);
        flood.output_cap = 1 << 20;
        const MeasuredRun run = run_measured(flood);
        EXPECT_EQ(run.end.ending, Ending::output_cap) << script;
        EXPECT_LE(run.end.out.size(), std::size_t{1} << 20U);
        EXPECT_LE(run.end.err.size(), std::size_t{80} << 10U);
    }
}

TEST(MeasuredProcess, LongOutputIsKeptWhole) {
    const MeasuredRun run =
        run_measured(sh("head -c 3000000 /dev/zero; head -c 200000 /dev/zero | tr '\\0' e >&2"));
    EXPECT_TRUE(run.end.ok());
    EXPECT_THAT(run.end.out, SizeIs(3000000));
    EXPECT_THAT(run.end.err, HasSubstr("[…]"));
}

TEST(MeasuredProcess, AStopEndsIt) {
    StopSignal stop;
    MeasuredCommand long_one = sh("sleep 100 & sleep 100");
    long_one.stop = &stop;
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        stop.raise();
    });
    const MeasuredRun run = run_measured(long_one);
    later.join();
    EXPECT_EQ(run.end.ending, Ending::cancelled);
    EXPECT_LT(run.usage.wall_s, 50);
}

// The kernel closes our end of the control pipe: the launcher then kills everything.
TEST(MeasuredProcess, NothingSurvivesTheRunner) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const pid_t runner = ::fork();
    if (runner == 0) {
        ::close(fds[0]);
        MeasuredCommand hanging =
            sh(fmt::format("setsid sh -c 'echo $$ >&{0}; exec sleep 100' & echo $$ >&{0}; exec "
                           "sleep 100",
                           fds[1]));
        hanging.keep_fds = {fds[1]};
        run_measured(hanging);
        ::_exit(0);
    }
    ::close(fds[1]);
    std::string text;
    for (char c = 0; std::count(text.begin(), text.end(), '\n') < 2 && ::read(fds[0], &c, 1) == 1;)
        text += c;
    std::istringstream pids(text);
    pid_t first = 0, second = 0;
    ASSERT_TRUE(pids >> first >> second) << text;
    EXPECT_TRUE(alive(first) && alive(second));
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
    for (int i = 0; i < 500 && (alive(first) || alive(second)); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(alive(first));
    EXPECT_FALSE(alive(second));
    ::close(fds[0]);
}

// Processes that fork faster than anyone could list them. At most 400, so that a failure of this
// test does not take the machine with it.
TEST(MeasuredProcess, AForkBombIsEnded) {
    MeasuredCommand bomb =
        sh("f() { [ $1 -lt 9 ] || { sleep 100; exit; }; f $(($1+1)) & f $(($1+1)) & wait; }; f 0");
    bomb.time_limit_s = 1;
    const MeasuredRun run = run_measured(bomb);
    EXPECT_EQ(run.end.ending, Ending::timeout);
    EXPECT_GT(run.n_left, 20);
}

TEST(MeasuredProcess, UsageIsWhatTheAdapterReads) {
    const Usage usage{.wall_s = 1.5, .user_s = 0, .peak_memory_bytes = 4096};
    EXPECT_THAT(usage_json(usage), HasSubstr("\"wall_seconds\":1.5"));
    EXPECT_THAT(usage_json(usage), HasSubstr("\"peak_memory_bytes\":4096"));
}

}  // namespace
}  // namespace steady
