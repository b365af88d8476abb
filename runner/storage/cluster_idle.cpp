// The idle timer of the private PostgreSQL: a detached process, so that a one-off command may start
// the database and exit. It counts the socket's clients without connecting, and decides under the
// same lock that starters hold, so that no command gets the URL of a server that is about to stop.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <exception>
#include <fstream>

#include "runner/storage/cluster_server.h"

namespace steady::cluster {
namespace {

constexpr unsigned kTick_s = 5;

int idle_limit_s(const Layout& layout) {
    int limit = 0;
    std::ifstream(layout.use_path) >> limit;
    return limit;
}

void touch(const Layout& layout) { ::utimensat(AT_FDCWD, layout.use_path.c_str(), nullptr, 0); }

bool idle_long_enough(const Layout& layout) {
    const int limit = idle_limit_s(layout);
    if (limit <= 0) return false;
    if (connected_clients(layout) > 0) {
        touch(layout);
        return false;
    }
    struct stat info {};
    if (::stat(layout.use_path.c_str(), &info) != 0) return false;
    return std::time(nullptr) - info.st_mtim.tv_sec >= limit;
}

void watch(const Layout& layout, pid_t pid) {
    while (pid != 0 && running_postmaster(layout) == pid) {
        const int limit = idle_limit_s(layout);
        ::sleep(limit > 0 && limit < static_cast<int>(kTick_s) ? 1 : kTick_s);
        if (!idle_long_enough(layout)) continue;
        const Lock lock(layout, 120);
        if (idle_long_enough(layout) && running_postmaster(layout) == pid) {
            stop_server(layout, pid);
            ::unlink(layout.use_path.c_str());
        }
    }
}

[[noreturn]] void run_timer(const Layout& layout) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::prctl(PR_SET_NAME, "steady-db-idle");
    ::syscall(SYS_close_range, 0U, ~0U, 0U);  // above all the host lock, and the caller's pipes
    for (int i = 0; i < 3; ++i) {
        [[maybe_unused]] const int fd = ::open("/dev/null", O_RDWR);
    }
    [[maybe_unused]] const int ignored = ::chdir("/");
    try {
        watch(layout, running_postmaster(layout));
    } catch (const std::exception&) {
        ::_exit(1);  // the next starter tries again; an idle server does no harm
    }
    ::_exit(0);
}

}  // namespace

void start_idle_timer(const Layout& layout) {
    const pid_t pid = ::fork();
    if (pid == 0) run_timer(layout);
    if (pid > 0) ::waitpid(pid, nullptr, 0);
}

}  // namespace steady::cluster
