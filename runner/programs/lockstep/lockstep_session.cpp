// The clock stands as close to the two lines as it can: the turn's time holds the way through two
// pipes, some tens of microseconds, for both arms alike.
#include "runner/programs/lockstep/lockstep_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/platform/files.h"
#include "runner/platform/measured_process.h"

namespace steady {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kQuitTimeout = 10;
constexpr std::size_t kMostResults = std::size_t{256} << 10U;

ChildOptions with_caps(ChildOptions options) {
    options.output_cap = kMostOutput;
    return options;
}

}  // namespace

LockstepSession::LockstepSession(ChildOptions options, double ready_timeout_s)
    : child_(with_caps(std::move(options))) {
    const std::string ready = fmt::format("ready {}", kLockstepVersion);
    say(fmt::format("hello {}", kLockstepVersion));
    const std::string line = hear(ready_timeout_s, ready);
    if (line != ready) refuse(line, ready);
}

void LockstepSession::say(const std::string& line) {
    if (!child_.write_line(line)) fail(fmt::format("when it was sent \"{}\"", line));
}

std::string LockstepSession::hear(double timeout_s, const std::string& wanted) {
    auto line = child_.read_line(timeout_s);
    if (!line) fail(fmt::format("before it said \"{}\"", wanted));
    if (line->ends_with('\r')) line->pop_back();
    if (line->rfind("error", 0) == 0) {
        child_.end_as(Ending::protocol);
        const std::string text = line->size() > 6 ? line->substr(6) : "no text";
        throw LockstepFailure("error", fmt::format("the program said: {}", escape_line(text)));
    }
    return *line;
}

void LockstepSession::fail(const std::string& doing) {
    const ChildEnd end = child_.finish(2);
    const std::string how = end.ok() ? "protocol" : end.outcome();
    const char* hint = how == "timeout" ? "; does it flush stdout after each line?"
                       : end.ok()       ? "; with lockstep it must speak the protocol of "
                                          "runner/programs/lockstep/README.md"
                                        : "";
    throw LockstepFailure(how,
                          fmt::format("the program ended {}: {}{}", doing, end.describe(), hint));
}

void LockstepSession::refuse(const std::string& line, const std::string& wanted) {
    child_.end_as(Ending::protocol);
    throw LockstepFailure("protocol",
                          fmt::format("it said \"{}\", allowed: {}; what is no protocol belongs on "
                                      "stderr",
                                      escape_line(shorten(line, 120)), wanted));
}

std::vector<AdapterRow> LockstepSession::run(int n, double timeout_s) {
    const std::string done = fmt::format("done {}", n);
    const auto start = Clock::now();
    say(fmt::format("run {}", n));
    std::string results;
    for (;;) {
        const double used = std::chrono::duration<double>(Clock::now() - start).count();
        const std::string line = hear(std::max(0.0, timeout_s - used), done);
        if (line == done) break;
        if (!line.starts_with('{'))
            refuse(line, fmt::format("{} or a line {{\"metric\": …}}", done));
        results += line + "\n";
        if (results.size() > kMostResults) {
            child_.end_as(Ending::output_cap);
            fail(fmt::format("with more than {} KiB of results in one turn", kMostResults >> 10U));
        }
    }
    const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();
    std::vector<AdapterRow> rows;
    try {
        if (!results.empty()) rows = find_adapter("lines")->read(results);
    } catch (const Error& error) {
        child_.end_as(Ending::protocol);
        throw LockstepFailure("protocol", error.what());
    }
    const bool told = std::any_of(rows.begin(), rows.end(), [](const AdapterRow& row) {
        return row.metric == "wall_seconds";
    });
    if (!told) {
        rows.push_back({.metric = "wall_seconds",
                        .unit = "s",
                        .direction = Direction::lower_is_better,
                        .value = wall_s / n});
    }
    return rows;
}

void LockstepSession::quit() {
    say("quit");
    const ChildEnd end = child_.finish(kQuitTimeout);
    if (!end.ok()) throw LockstepFailure(end.outcome(), "after quit: " + end.describe());
    if (end.out.empty()) return;
    throw LockstepFailure(
        "protocol", fmt::format("it said \"{}\" after quit", escape_line(shorten(end.out, 120))));
}

double LockstepSession::cpu_seconds() const {
    const std::string stat = read_line_or_empty(fmt::format("/proc/{}/stat", child_.pid()));
    const std::size_t after_name = stat.rfind(')');
    if (after_name == std::string::npos) return 0;
    std::istringstream fields(stat.substr(after_name + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user_ticks = 0, system_ticks = 0;
    fields >> user_ticks >> system_ticks;
    return (user_ticks + system_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace steady
