// The child's stdin is a socket, so that writing to a dead child is an error code and not a signal;
// its end is seen through a pidfd, so that one poll() watches everything. After its end the group
// is killed, then whatever left the group: such processes are known by a word in their environment.
#include "runner/platform/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/platform/process_tree.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr const char* kMark = "STEADY_CHILD";

int poll_timeout_ms(Clock::time_point deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 3600000));
}

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(std::min(seconds, 1e6)));
}

// The real path, checked against the roots.
std::string checked_program(const ChildOptions& options) {
    const std::string& name = options.argv.empty() ? std::string{} : options.argv[0];
    if (name.empty() || name[0] != '/') {
        throw Error{fmt::format("cannot start \"{}\": programs are started by absolute path",
                                escape_line(name))};
    }
    std::error_code error;
    const std::string real = fs::canonical(name, error).string();
    if (error) throw Error{fmt::format("cannot start {}: {}", escape_line(name), error.message())};
    if (options.roots.empty()) return real;
    for (const auto& root : options.roots) {
        const std::string folder = fs::weakly_canonical(root).string() + "/";
        if (real.rfind(folder, 0) == 0) return real;
    }
    throw Error{fmt::format("{} lies outside the directories that programs may come from: {}", real,
                            fmt::join(options.roots, ", "))};
}

// Opens the program once; with a hash to hold, the bytes that were hashed are those that run.
Fd open_verified(const std::string& program, const std::string& sha256) {
    Fd fd{::open(program.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) throw Error{fmt::format("cannot open {}: {}", program, std::strerror(errno))};
    const std::string found = sha256_hex_of(fd.get(), program);
    if (found != sha256) {
        throw Error{fmt::format("{} has SHA-256 {}, not {}: it changed since it was recorded",
                                program, found, sha256)};
    }
    return fd;
}

struct Ends {
    Fd ours, childs;
};

Ends make_pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) throw Error{"no pipe: too many files", kExitInternal};
    ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return {Fd{fds[0]}, Fd{fds[1]}};
}

Ends make_stdin() {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
        throw Error{"no socket: too many files", kExitInternal};
    }
    ::shutdown(fds[1], SHUT_WR);
    ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return {Fd{fds[0]}, Fd{fds[1]}};
}

}  // namespace

StopSignal::StopSignal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::raise() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
}

bool StopSignal::raised() const {
    pollfd entry{fd_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
}

std::int64_t oom_kill_count() {
    std::istringstream text(read_line_or_empty("/proc/vmstat"));
    std::string key;
    std::int64_t value = 0;
    while (text >> key >> value) {
        if (key == "oom_kill") return value;
    }
    return 0;
}

std::map<std::string, std::string> child_environment() {
    return {
        {"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}, {"LANG", "C.UTF-8"}, {"TZ", "UTC"}};
}

Child::Child(ChildOptions options) : options_(std::move(options)), nonce_(random_hex(12)) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // daemons of the child come to us, not to init
    const std::string program = checked_program(options_);
    SpawnPlan plan;
    plan.argv = options_.argv;
    plan.argv[0] = program;
    Fd verified;
    if (!options_.sha256.empty()) verified = open_verified(program, options_.sha256);
    plan.exec_fd = verified.get();
    plan.env = child_environment();
    for (const auto& [name, value] : options_.env) {
        if (name.rfind("LD_", 0) != 0) plan.env[name] = value;
    }
    plan.env[kMark] = nonce_;
    plan.directory = options_.directory;
    plan.run_as = options_.run_as;
    plan.limits = options_.limits;
    if (options_.tree) plan.join = options_.tree->join();
    plan.keep_fds = {options_.host_lock_fd, options_.weights_fd};

    auto in = make_stdin();
    auto out = make_pipe();
    auto err = make_pipe();
    plan.stdin_fd = in.childs.get();
    plan.stdout_fd = options_.one_stream ? err.childs.get() : out.childs.get();
    plan.stderr_fd = err.childs.get();
    oom_kills_before_ = oom_kill_count();
    pid_ = spawn(plan);
    pid_fd_ = Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U))};
    in_ = std::move(in.ours);
    if (!options_.one_stream) out_fd_ = std::move(out.ours);
    err_fd_ = std::move(err.ours);
}

Child::~Child() {
    if (end_) return;
    end_as(Ending::cancelled);
    reap();
}

bool Child::write_line(const std::string& line, double timeout_s) {
    const std::string text = line + "\n";
    const auto deadline = after(timeout_s);
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t n = ::send(in_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += static_cast<std::size_t>(n);
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return false;
        pollfd entry{in_.get(), POLLOUT, 0};
        if (::poll(&entry, 1, poll_timeout_ms(deadline)) == 0) {
            end_as(Ending::timeout);
            return false;
        }
    }
    return true;
}

void Child::take_out(const char* bytes, std::size_t n) {
    out_total_ += n;
    out_.append(bytes, n);
    const std::size_t last_line = out_.size() - (out_.rfind('\n') + 1);
    if (out_total_ > options_.output_cap || (last_line > options_.line_cap)) {
        end_as(Ending::output_cap);
        out_.resize(std::min(out_.size(), options_.line_cap));
    }
}

void Child::take_err(const char* bytes, std::size_t n) {
    const std::size_t room =
        options_.stderr_keep - std::min(options_.stderr_keep, err_head_.size());
    const std::size_t first = std::min(room, n);
    err_head_.append(bytes, first);
    err_tail_.append(bytes + first, n - first);
    if (err_tail_.size() > 2 * options_.stderr_keep) {
        err_tail_.erase(0, err_tail_.size() - options_.stderr_keep);
    }
}

void Child::drain(int fd, bool is_out) {
    std::array<char, 65536> buffer{};
    for (int i = 0; i < 64; ++i) {  // a flood must not keep us from looking at the clock
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) (is_out ? out_fd_ : err_fd_).reset();
        if (n <= 0) return;
        if (is_out) {
            if (forced_) continue;  // it is being ended: read on, keep nothing
            take_out(buffer.data(), static_cast<std::size_t>(n));
            if (forced_) return;
        } else {
            take_err(buffer.data(), static_cast<std::size_t>(n));
        }
    }
}

// True when what was waited for is there; false after the deadline or a stop.
bool Child::pump(Clock::time_point deadline, Wait wait) {
    for (;;) {
        if (wait == Wait::line && has_line()) return true;
        const int stop_fd = options_.stop != nullptr && !forced_ ? options_.stop->fd() : -1;
        std::array<pollfd, 4> entries{{{out_fd_.get(), POLLIN, 0},
                                       {err_fd_.get(), POLLIN, 0},
                                       {pid_fd_.get(), POLLIN, 0},
                                       {stop_fd, POLLIN, 0}}};
        const int n = ::poll(entries.data(), entries.size(), poll_timeout_ms(deadline));
        if (n < 0 && errno != EINTR) return false;
        if (entries[3].revents != 0) {
            end_as(Ending::cancelled);
            return false;
        }
        if (entries[0].revents != 0) drain(out_fd_.get(), true);
        if (out_fd_.get() < 0 && wait == Wait::line && !has_line()) return false;
        if (entries[1].revents != 0) drain(err_fd_.get(), false);
        if (wait == Wait::line && forced_) return false;
        if (entries[2].revents != 0) {
            if (out_fd_) drain(out_fd_.get(), true);
            if (err_fd_) drain(err_fd_.get(), false);
            return wait == Wait::end || has_line();
        }
        if (n == 0 && Clock::now() >= deadline) return false;
    }
}

std::optional<std::string> Child::read_line(double timeout_s) {
    if (end_ || forced_) return std::nullopt;
    const bool there = pump(after(timeout_s), Wait::line);
    if (!there) {
        if (!forced_ && out_fd_ && !wait_exit(0)) end_as(Ending::timeout);
        // its output is closed: give it a moment to end by itself, then it broke the protocol
        if (!forced_ && !wait_exit(options_.term_grace_s)) end_as(Ending::protocol);
        return std::nullopt;
    }
    const std::size_t end = out_.find('\n');
    std::string line = out_.substr(0, end);
    out_.erase(0, end + 1);
    return line;
}

bool Child::wait_exit(double seconds) {
    const auto deadline = after(seconds);
    for (;;) {
        pollfd entry{pid_fd_.get(), POLLIN, 0};
        const int n = ::poll(&entry, 1, poll_timeout_ms(deadline));
        if (n == 1) return true;
        if (n == 0 && Clock::now() >= deadline) return false;
    }
}

void Child::end_as(Ending why) {
    if (end_ || forced_) return;
    forced_ = why;
    ::kill(-pid_, SIGTERM);
    if (!pump(after(options_.term_grace_s), Wait::end)) ::kill(-pid_, SIGKILL);
}

ChildEnd Child::finish(double timeout_s) {
    if (end_) return *end_;
    in_.reset();
    if (!forced_ && !pump(after(timeout_s), Wait::end) && !forced_) end_as(Ending::timeout);
    reap();
    return *end_;
}

void Child::reap() {
    if (end_) return;
    ::kill(-pid_, SIGKILL);  // members of the group that outlived their leader
    int status = 0;
    rusage usage{};
    while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    sweep();
    ChildEnd end;
    end.out = std::move(out_);
    end.err = err_head_;
    if (err_tail_.size() > options_.stderr_keep) {
        err_tail_.erase(0, err_tail_.size() - options_.stderr_keep);
        end.err += "\n[…]\n";
    }
    end.err += err_tail_;
    end.cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    end.peak_rss_bytes = usage.ru_maxrss * 1024;
    end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (forced_) {
        end.ending = *forced_;
    } else if (WIFSIGNALED(status)) {
        const bool by_kernel = end.code == SIGKILL && oom_kill_count() > oom_kills_before_;
        end.ending = by_kernel ? Ending::oom : Ending::signalled;
    }
    end_ = std::move(end);
}

// Daemons: processes that left the group but carry our word in their environment.
void Child::sweep() {
    const std::string word = fmt::format("{}={}", kMark, nonce_);
    for (int round = 0; round < 20; ++round) {
        bool found = false;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator("/proc", error)) {
            const pid_t pid = std::atoi(entry.path().filename().c_str());
            if (pid <= 1 || pid == ::getpid()) continue;
            if (read_line_or_empty(entry.path() / "environ").find(word) == std::string::npos) {
                continue;
            }
            found = true;
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);  // ours by now if its parent died; else an error, ignored
        }
        if (!found) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

std::string ChildEnd::outcome() const {
    switch (ending) {
        case Ending::exited:
            return code == 0 ? "ok" : "crash";
        case Ending::signalled:
            return "signal";
        case Ending::timeout:
            return "timeout";
        case Ending::output_cap:
            return "output_cap";
        case Ending::oom:
            return "oom";
        case Ending::protocol:
            return "protocol";
        case Ending::cancelled:
            return "cancelled";
    }
    return "crash";
}

std::string ChildEnd::describe() const {
    std::string text = outcome();
    if (ending == Ending::exited) text = fmt::format("exit code {}", code);
    if (ending == Ending::signalled) text = fmt::format("signal {} ({})", code, ::strsignal(code));
    std::string tail = err.size() <= 600 ? err : "…" + err.substr(err.size() - 600);
    while (tail.ends_with('\n')) tail.pop_back();
    return tail.empty() ? text : fmt::format("{}: {}", text, safe_line(tail));
}

ChildEnd run_child(ChildOptions options, double timeout_s) {
    options.line_cap = options.output_cap;
    Child child(std::move(options));
    return child.finish(timeout_s);
}

}  // namespace steady
