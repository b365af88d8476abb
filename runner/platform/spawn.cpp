// The child borrows our memory until it executes the program, as with vfork: to copy the page
// tables of a large process takes tens of milliseconds. So everything that allocates happens
// before, and between start and exec only system calls run: another thread may hold any lock at
// that moment. The child reports a failed step through a pipe that exec closes: an empty pipe means
// that it runs.
#include "runner/platform/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kernels/base/error.h"
#include "runner/platform/files.h"

namespace steady {
namespace {

struct Failure {  // sent through the pipe
    char step[32] = {};
    int error = 0;
};

// What the child needs, in the form that system calls take.
struct Prepared {
    std::vector<char*> argv, envp;
    std::vector<std::string> env_text;
    std::vector<gid_t> groups;
    std::vector<Fd> join;
    int null_fd = -1, report_fd = -1;
    pid_t parent = 0;
};

[[noreturn]] void give_up(int report_fd, const char* step) {
    Failure failure;
    failure.error = errno;
    std::strncpy(failure.step, step, sizeof failure.step - 1);
    [[maybe_unused]] const auto n = ::write(report_fd, &failure, sizeof failure);
    ::_exit(127);
}

void limit(int resource, const std::optional<std::uint64_t>& value, int report_fd) {
    if (!value) return;
    const rlimit bound{*value, *value};
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &bound) != 0) {
        give_up(report_fd, "setrlimit");
    }
}

void apply_limits(const Limits& limits, int report_fd) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);  // a core dump could hold what the journal redacts
    limit(RLIMIT_AS, limits.address_space, report_fd);
    limit(RLIMIT_FSIZE, limits.file_size, report_fd);
    limit(RLIMIT_CPU, limits.cpu_s, report_fd);
    limit(RLIMIT_NOFILE, limits.n_files, report_fd);
    limit(RLIMIT_NPROC, limits.n_processes, report_fd);
}

// Puts the three standard streams in place and closes everything else but the kept descriptors.
void arrange_descriptors(const SpawnPlan& plan, Prepared& ready) {
    // Move what we still need above the range that dup2 overwrites.
    const auto lift = [&](int fd) {
        const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
        if (high < 0) give_up(ready.report_fd, "dup");
        return high;
    };
    ready.report_fd = lift(ready.report_fd);
    const std::array<int, 3> wanted{plan.stdin_fd, plan.stdout_fd, plan.stderr_fd};
    std::array<int, 3> lifted{};
    for (std::size_t i = 0; i < 3; ++i) lifted[i] = lift(wanted[i] < 0 ? ready.null_fd : wanted[i]);
    for (int i = 0; i < 3; ++i) {
        if (::dup2(lifted[static_cast<std::size_t>(i)], i) < 0) give_up(ready.report_fd, "dup2");
    }
    ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    for (const int fd : plan.keep_fds) {
        if (fd >= 3) ::fcntl(fd, F_SETFD, 0);
    }
}

// Our handlers must not run in the child, which has our memory.
void reset_signals() {
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action {};
        if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        if (action.sa_handler != SIG_DFL) ::signal(number, SIG_DFL);
    }
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const SpawnPlan& plan, Prepared& ready) {
    if (plan.new_session) {
        ::setsid();
    } else {
        ::setpgid(0, 0);
    }
    for (const Fd& group : ready.join) {
        if (::write(group.get(), "0", 1) != 1) give_up(ready.report_fd, "enter the control group");
    }
    arrange_descriptors(plan, ready);
    reset_signals();
    apply_limits(plan.limits, ready.report_fd);
    if (plan.run_as) {
        if (::setgroups(ready.groups.size(), ready.groups.data()) != 0 ||
            ::setresgid(plan.run_as->gid, plan.run_as->gid, plan.run_as->gid) != 0 ||
            ::setresuid(plan.run_as->uid, plan.run_as->uid, plan.run_as->uid) != 0) {
            give_up(ready.report_fd, "drop privileges");
        }
    }
    if (plan.no_new_privileges) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (plan.die_with_parent) {  // after the change of user, which would clear it
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != ready.parent) ::_exit(127);
    }
    if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) {
        give_up(ready.report_fd, "chdir");
    }
    if (plan.exec_fd >= 0) {
        ::syscall(SYS_execveat, plan.exec_fd, "", ready.argv.data(), ready.envp.data(),
                  0x1000 /* AT_EMPTY_PATH */);
    } else {
        ::execve(ready.argv[0], ready.argv.data(), ready.envp.data());
    }
    give_up(ready.report_fd, "exec");
}

struct Start {
    const SpawnPlan& plan;
    Prepared& ready;
};

int enter(void* start) {
    become(static_cast<Start*>(start)->plan, static_cast<Start*>(start)->ready);
}

// Returns in the parent once the child has executed the program or ended.
pid_t borrow_memory(Start start) {
    constexpr std::size_t kStackBytes = std::size_t{64} << 10U, kAlign = 64;
    std::vector<char> stack(kStackBytes + kAlign);
    const auto top =
        reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / kAlign * kAlign;
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    const pid_t pid =
        ::clone(enter, reinterpret_cast<void*>(top), CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // the sanitizers keep books on each thread's one stack
#else
constexpr bool kSanitized = false;
#endif

pid_t start_child(const SpawnPlan& plan, Prepared& ready) {
    // glibc changes the user of all threads of a process, which would be ours.
    if (!plan.run_as && !kSanitized) return borrow_memory({plan, ready});
    const pid_t pid = ::fork();
    if (pid == 0) become(plan, ready);
    return pid;
}

Prepared prepare(const SpawnPlan& plan) {
    if (plan.argv.empty() || plan.argv[0].empty() || plan.argv[0][0] != '/') {
        throw Error{fmt::format("cannot start \"{}\": programs are started by absolute path",
                                plan.argv.empty() ? "" : plan.argv[0])};
    }
    Prepared ready;
    for (const auto& [name, value] : plan.env) ready.env_text.push_back(name + "=" + value);
    for (const auto& text : plan.argv) ready.argv.push_back(const_cast<char*>(text.c_str()));
    for (auto& text : ready.env_text) ready.envp.push_back(text.data());
    ready.argv.push_back(nullptr);
    ready.envp.push_back(nullptr);
    if (plan.run_as) {
        int n = 64;
        ready.groups.resize(static_cast<std::size_t>(n));
        ::getgrouplist(plan.run_as->name.c_str(), plan.run_as->gid, ready.groups.data(), &n);
        ready.groups.resize(static_cast<std::size_t>(std::max(n, 1)));
    }
    for (const auto& group : plan.join) {
        ready.join.emplace_back(::open(group.c_str(), O_WRONLY | O_CLOEXEC));
        if (!ready.join.back()) {
            throw Error{fmt::format("cannot open {}: {}", group, std::strerror(errno)),
                        kExitInternal};
        }
    }
    ready.parent = ::getpid();
    return ready;
}

}  // namespace

pid_t spawn(const SpawnPlan& plan) {
    Prepared ready = prepare(plan);
    const Fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    std::array<int, 2> pipe_fds{};
    if (!null || ::pipe2(pipe_fds.data(), O_CLOEXEC) != 0) {
        throw Error{fmt::format("cannot start {}: {}", plan.argv[0], std::strerror(errno)),
                    kExitInternal};
    }
    const Fd report_read{pipe_fds[0]};
    Fd report_write{pipe_fds[1]};
    ready.null_fd = null.get();
    ready.report_fd = report_write.get();

    const pid_t pid = start_child(plan, ready);
    if (pid < 0) {
        throw Error{
            fmt::format("cannot start {}: no process: {}", plan.argv[0], std::strerror(errno)),
            kExitInternal};
    }
    if (!plan.new_session) ::setpgid(pid, pid);  // on both sides: whoever comes first
    report_write.reset();

    Failure failure;
    ssize_t n = 0;
    do {
        n = ::read(report_read.get(), &failure, sizeof failure);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return pid;
    ::waitpid(pid, nullptr, 0);
    throw Error{fmt::format("cannot start {}: {}: {}", plan.argv[0], failure.step,
                            std::strerror(failure.error)),
                kExitInternal};
}

std::optional<Identity> find_user(const std::string& name) {
    std::vector<char> buffer(16384);
    passwd entry{};
    passwd* found = nullptr;
    ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) return std::nullopt;
    return Identity{name, entry.pw_uid, entry.pw_gid};
}

}  // namespace steady
