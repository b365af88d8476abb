// steady-launch REPORT_FD CONTROL_FD LIMIT_MS COMMAND [ARGUMENT…]
//
// Starts one command for the runner, waits for its end and reports what it used. It is a program of
// its own, static and small, because the kernel counts a forked child's memory from its parent's: a
// command started by a runner of 200 MB would seem to use 200 MB. Descendants that outlive the
// command come to this process (subreaper) and are killed, as is everything when the time is over
// or when the runner closes its end of CONTROL_FD, which the kernel does if the runner dies.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "runner/launch/report.h"

namespace {

using steady::LaunchReport;

constexpr int kUsage = 2;

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void add_usage(LaunchReport& report, const rusage& usage) {
    const auto us = [](const timeval& time) {
        return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
    };
    report.user_us += us(usage.ru_utime);
    report.system_us += us(usage.ru_stime);
    report.minor_faults += usage.ru_minflt;
    report.major_faults += usage.ru_majflt;
    report.context_switches += usage.ru_nvcsw + usage.ru_nivcsw;
    if (usage.ru_maxrss > report.peak_memory_kib) report.peak_memory_kib = usage.ru_maxrss;
}

// The parent of a process, 0 when it is gone.
pid_t parent_of(pid_t pid) {
    char path[40], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char* after_name = std::strrchr(text, ')');  // the name may hold anything
    int parent = 0;
    char state = 0;
    if (after_name == nullptr || std::sscanf(after_name + 1, " %c %d", &state, &parent) != 2)
        return 0;
    return parent;
}

// True when pid descends from us. A chain that breaks while we read it is followed in the next
// round.
bool is_ours(pid_t pid) {
    const pid_t self = getpid();
    for (int depth = 0; pid > 1 && depth < 10000; ++depth) {
        pid = parent_of(pid);
        if (pid == self) return true;
    }
    return false;
}

void kill_descendants() {
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return;
    while (const dirent* entry = readdir(processes)) {
        const pid_t pid = std::atoi(entry->d_name);
        if (pid > 1 && is_ours(pid)) kill(pid, SIGKILL);
    }
    closedir(processes);
}

// Collects every child that has ended. True when `command` is among them.
bool reap(pid_t command, LaunchReport& report, bool after_command) {
    bool seen = false;
    for (;;) {
        int status = 0;
        rusage usage{};
        const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) return seen;
        if (pid == command) {
            seen = true;
            report.wait_status = status;
        } else if (after_command) {
            ++report.n_left;
        }
        add_usage(report, usage);
    }
}

bool has_children() {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// The group at once, which no fork can escape; then those that left the group, until none is left.
void end_the_rest(pid_t command, LaunchReport& report) {
    kill(-command, SIGKILL);
    reap(command, report, true);
    while (has_children()) {
        kill_descendants();
        reap(command, report, true);
        if (!has_children()) return;
        usleep(1000);
        reap(command, report, true);
    }
}

[[noreturn]] void become(char** argv, int error_fd) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(argv[0], argv);
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(error_fd, &error, sizeof error);
    _exit(127);
}

int send(int report_fd, const LaunchReport& report) {
    return write(report_fd, &report, sizeof report) == ssize_t{sizeof report} ? 0 : 1;
}

// Waits for the command, the runner or the clock.
void watch(pid_t command, int signal_fd, int control_fd, std::int64_t start_ns,
           std::int64_t limit_ms, LaunchReport& report) {
    const std::int64_t deadline_ns = start_ns + limit_ms * 1'000'000;
    for (;;) {
        const std::int64_t left_ms = (deadline_ns - now_ns() + 999'999) / 1'000'000;
        pollfd entries[2] = {{signal_fd, POLLIN, 0}, {control_fd, POLLIN, 0}};
        const int most = 3'600'000;
        const int n = poll(entries, 2,
                           left_ms < 0      ? 0
                           : left_ms > most ? most
                                            : static_cast<int>(left_ms));
        if (n > 0 && entries[0].revents != 0) {
            signalfd_siginfo info{};
            [[maybe_unused]] const ssize_t got = read(signal_fd, &info, sizeof info);
            if (info.ssi_signo != SIGCHLD) return;  // asked to end
            if (reap(command, report, false)) {
                report.wall_ns = now_ns() - start_ns;
                return;
            }
        }
        if (n > 0 && entries[1].revents != 0) return;
        if (now_ns() >= deadline_ns) {
            report.timed_out = 1;
            return;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fputs("usage: steady-launch REPORT_FD CONTROL_FD LIMIT_MS COMMAND [ARGUMENT…]\n",
                   stderr);
        return kUsage;
    }
    const int report_fd = std::atoi(argv[1]), control_fd = std::atoi(argv[2]);
    const std::int64_t limit_ms = std::atoll(argv[3]);
    fcntl(report_fd, F_SETFD, FD_CLOEXEC);
    fcntl(control_fd, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    sigset_t watched;
    sigemptyset(&watched);
    for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, one);
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    const int signal_fd = signalfd(-1, &watched, SFD_CLOEXEC);
    int errors[2] = {-1, -1};
    LaunchReport report;
    if (signal_fd < 0 || pipe2(errors, O_CLOEXEC) != 0) {
        report.kind = LaunchReport::not_started;
        report.start_error = errno;
        return send(report_fd, report);
    }
    const std::int64_t start_ns = now_ns();
    const pid_t command = fork();
    if (command == 0) {
        signal(SIGPIPE, SIG_DFL);
        become(argv + 4, errors[1]);
    }
    report.start_error = command < 0 ? errno : 0;
    close(errors[1]);
    if (command > 0 && read(errors[0], &report.start_error, sizeof report.start_error) <= 0) {
        report.start_error = 0;
    }
    if (report.start_error != 0) {
        report.kind = LaunchReport::not_started;
        return send(report_fd, report);
    }
    watch(command, signal_fd, control_fd, start_ns, limit_ms, report);
    if (report.wall_ns == 0) report.wall_ns = now_ns() - start_ns;
    end_the_rest(command, report);
    return send(report_fd, report);
}
