// The runner sleeps in poll() while the command runs: its output, the launcher's report and a stop
// are descriptors. To end a command early is to close the control pipe.
#include "runner/platform/measured_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/launch/report.h"
#include "runner/platform/installation.h"
#include "runner/platform/process_tree.h"

namespace steady {
namespace {

struct PipeEnds {
    Fd read, write;
};

PipeEnds new_pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) throw Error{"no pipe: too many files", kExitInternal};
    return {Fd{fds[0]}, Fd{fds[1]}};
}

// Keeps the first and the last bytes of a stream and counts all of them.
struct Kept {
    std::size_t head_cap, tail_cap;
    std::size_t total = 0;
    std::string head{}, tail{};

    void take(const char* bytes, std::size_t n) {
        total += n;
        const std::size_t first = std::min(head_cap - std::min(head_cap, head.size()), n);
        head.append(bytes, first);
        tail.append(bytes + first, n - first);
        if (tail.size() > 2 * tail_cap + 4096) tail.erase(0, tail.size() - tail_cap);
    }

    std::string text() const {
        if (tail_cap == 0) return head;
        if (total <= head_cap + tail_cap) return head + tail;
        return head + "\n[…]\n" + tail.substr(tail.size() - tail_cap);
    }
};

using Clock = std::chrono::steady_clock;
// What the launcher needs to end everything and to report.
constexpr std::chrono::seconds kPatience{5};

struct Watch {
    Fd out, err, report, control;
    Kept out_kept, err_kept;
    std::optional<Ending> forced{};
    std::string report_bytes{};
    pid_t launcher = -1;
    Clock::time_point give_up{};
};

// Reads what is there; closes the descriptor at its end.
void drain(Fd& fd, const auto& take) {
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        fd.reset();
        return;
    }
    take(buffer.data(), static_cast<std::size_t>(n));
}

void force(Watch& watch, Ending why) {
    if (!watch.forced) watch.forced = why;
    if (watch.control) watch.give_up = std::min(watch.give_up, Clock::now() + kPatience);
    watch.control.reset();  // the launcher kills everything and reports
}

// A program of the same user may stop or kill the launcher; it must not stop us.
bool gave_up(Watch& watch) {
    if (Clock::now() < watch.give_up) return false;
    ::kill(-watch.launcher, SIGKILL);
    if (!watch.forced) watch.forced = Ending::timeout;
    watch.report.reset();
    return true;
}

// Until the launcher has reported. A descendant that is being killed may hold stdout open a moment
// longer, so what is there then is read without waiting for its end.
void pump(Watch& watch, const MeasuredCommand& command) {
    const auto keep = [&](Kept& kept) {
        return [&](const char* bytes, std::size_t n) {
            kept.take(bytes, n);
            if (kept.total > command.output_cap) force(watch, Ending::output_cap);
        };
    };
    while (watch.report) {
        const bool listen = command.stop != nullptr && !watch.forced;
        std::array<pollfd, 4> entries{{{watch.out.get(), POLLIN, 0},
                                       {watch.err.get(), POLLIN, 0},
                                       {watch.report.get(), POLLIN, 0},
                                       {listen ? command.stop->fd() : -1, POLLIN, 0}}};
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(watch.give_up - Clock::now());
        const int wait_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
        if (::poll(entries.data(), entries.size(), wait_ms) < 0) continue;
        if (gave_up(watch)) break;
        if (entries[0].revents != 0) drain(watch.out, keep(watch.out_kept));
        if (entries[1].revents != 0) drain(watch.err, keep(watch.err_kept));
        if (entries[2].revents != 0) {
            drain(watch.report,
                  [&](const char* bytes, std::size_t n) { watch.report_bytes.append(bytes, n); });
        }
        if (entries[3].revents != 0) force(watch, Ending::cancelled);
    }
    for (Fd* fd : {&watch.out, &watch.err}) {
        if (*fd) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
        Kept& kept = fd == &watch.out ? watch.out_kept : watch.err_kept;
        for (std::size_t before = kept.total + 1; *fd && kept.total != before;) {
            before = kept.total;
            drain(*fd, keep(kept));
        }
    }
}

ChildEnd end_of(const Watch& watch, const LaunchReport& report, bool oom_seen) {
    ChildEnd end;
    end.out = watch.out_kept.text();
    end.err = watch.err_kept.text();
    end.cpu_s = static_cast<double>(report.user_us + report.system_us) * 1e-6;
    end.peak_rss_bytes = report.peak_memory_kib * 1024;
    const int status = report.wait_status;
    end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (watch.forced) {
        end.ending = *watch.forced;
    } else if (report.timed_out != 0) {
        end.ending = Ending::timeout;
    } else if (WIFSIGNALED(status)) {
        end.ending = end.code == SIGKILL && oom_seen ? Ending::oom : Ending::signalled;
    }
    return end;
}

Usage usage_of(const LaunchReport& report) {
    return {.wall_s = static_cast<double>(report.wall_ns) * 1e-9,
            .user_s = static_cast<double>(report.user_us) * 1e-6,
            .system_s = static_cast<double>(report.system_us) * 1e-6,
            .peak_memory_bytes = report.peak_memory_kib * 1024,
            .page_faults = report.minor_faults,
            .major_faults = report.major_faults,
            .context_switches = report.context_switches};
}

// The launcher with the command behind it; its pid and our ends of the pipes.
pid_t start(const MeasuredCommand& command, Watch& watch) {
    auto out = new_pipe(), err = new_pipe(), report = new_pipe(), control = new_pipe();
    Fd input;
    if (!command.input_file.empty()) {
        input = Fd{::open(command.input_file.c_str(), O_RDONLY | O_CLOEXEC)};
        if (!input) {
            throw Error{fmt::format("cannot open {}: {}", escape_line(command.input_file),
                                    std::strerror(errno))};
        }
    }
    const auto limit_ms =
        static_cast<std::int64_t>(std::ceil(std::clamp(command.time_limit_s, 0.001, 1e9) * 1e3));
    SpawnPlan plan;
    plan.argv = command.prefix;
    plan.argv.insert(plan.argv.end(),
                     {launcher_path(), std::to_string(report.write.get()),
                      std::to_string(control.read.get()), std::to_string(limit_ms)});
    plan.argv.insert(plan.argv.end(), command.argv.begin(), command.argv.end());
    plan.env = command.env;
    plan.directory = command.directory;
    plan.limits = command.limits;
    plan.run_as = command.run_as;
    if (command.tree) plan.join = command.tree->join();
    plan.stdin_fd = input.get();
    plan.stdout_fd = out.write.get();
    plan.stderr_fd = err.write.get();
    plan.keep_fds = command.keep_fds;
    plan.keep_fds.insert(plan.keep_fds.end(), {report.write.get(), control.read.get()});
    plan.die_with_parent = false;  // it sees the end of the control pipe, and kills before it ends
    const pid_t pid = spawn(plan);
    watch.out = std::move(out.read);
    watch.err = std::move(err.read);
    watch.report = std::move(report.read);
    watch.control = std::move(control.write);
    watch.launcher = pid;
    watch.give_up = Clock::now() + std::chrono::milliseconds(limit_ms) + kPatience;
    return pid;
}

}  // namespace

std::string launcher_path() { return part_path("steady-launch"); }

MeasuredRun run_measured(const MeasuredCommand& command) {
    if (command.argv.empty() || command.argv[0].empty()) throw Error{"no command to run"};
    const std::int64_t oom_before = oom_kill_count();
    Watch watch{.out_kept = {command.output_cap, 0},
                .err_kept = {command.stderr_keep, command.stderr_keep}};
    const pid_t launcher = start(command, watch);
    pump(watch, command);
    int status = 0;
    while (::waitpid(launcher, &status, 0) < 0 && errno == EINTR) {
    }
    LaunchReport report;
    if (watch.report_bytes.size() != sizeof report && watch.forced) {
        return {.end = end_of(watch, report, false), .usage = {}};
    }
    if (watch.report_bytes.size() != sizeof report) {
        throw Error{fmt::format("steady-launch ended without a report while {} ran ({})",
                                escape_line(command.argv[0]),
                                WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "exit"),
                    kExitInternal};
    }
    std::memcpy(&report, watch.report_bytes.data(), sizeof report);
    if (report.kind == LaunchReport::not_started) {
        throw Error{fmt::format("cannot start {}: {}{}", escape_line(command.argv[0]),
                                std::strerror(report.start_error),
                                report.start_error == ENOENT
                                    ? "; its first line names an interpreter that is not there, or "
                                      "its loader is missing"
                                : report.start_error == ENOEXEC
                                    ? "; a script begins with #! and its interpreter"
                                    : "")};
    }
    MeasuredRun run;
    run.end = end_of(watch, report, oom_kill_count() > oom_before);
    run.usage = usage_of(report);
    run.n_left = report.n_left;
    return run;
}

std::string usage_json(const Usage& usage) {
    return nlohmann::json{{"wall_seconds", usage.wall_s},
                          {"user_seconds", usage.user_s},
                          {"system_seconds", usage.system_s},
                          {"cpu_seconds", usage.user_s + usage.system_s},
                          {"peak_memory_bytes", usage.peak_memory_bytes},
                          {"page_faults", usage.page_faults},
                          {"major_faults", usage.major_faults},
                          {"context_switches", usage.context_switches}}
        .dump();
}

}  // namespace steady
