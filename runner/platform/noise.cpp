// /proc/stat counts in ticks of 10 ms, so that windows below about a second say little; a pair
// lasts longer than that.
#include "runner/platform/noise.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "runner/platform/clock.h"
#include "runner/platform/files.h"

namespace steady {
namespace {

double cpu_seconds(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

NoiseMark noise_mark() {
    std::istringstream text(read_line_or_empty("/proc/stat"));
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0, steal = 0;
    text >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft >> steal;
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    NoiseMark mark;
    mark.wall_s = boottime_s();
    mark.steal_s = steal / ticks;
    mark.busy_s = (user + nice + system + irq + soft) / ticks;
    mark.own_s = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
    mark.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    return mark;
}

Noise noise_between(const NoiseMark& begin, const NoiseMark& end) {
    const double capacity = std::max(1e-3, (end.wall_s - begin.wall_s) * end.cpus);
    const double others = (end.busy_s - begin.busy_s) - (end.own_s - begin.own_s);
    return {.steal_share = std::max(0.0, end.steal_s - begin.steal_s) / capacity,
            .busy_others_share = std::max(0.0, others) / capacity};
}

double cpu_pressure() {
    const std::string text = read_line_or_empty("/proc/pressure/cpu");
    const auto at = text.find("avg10=");
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 6, nullptr);
}

std::string noise_reason(double steal_share, double busy_others_share) {
    if (steal_share > kMostSteal) return fmt::format("steal {:.1f} %", 100 * steal_share);
    if (busy_others_share > kMostBusyOthers) {
        return fmt::format("other processes {:.1f} %", 100 * busy_others_share);
    }
    return "";
}

std::string wait_until_quiet(double max_s, const StopSignal* stop) {
    const double give_up = boottime_s() + max_s;
    for (;;) {
        const auto begin = noise_mark();
        pollfd entry{stop != nullptr ? stop->fd() : -1, POLLIN, 0};
        if (::poll(&entry, 1, 250) == 1) return "stopped";
        const auto noise = noise_between(begin, noise_mark());
        std::string reason = noise_reason(noise.steal_share, noise.busy_others_share);
        if (reason.empty() || boottime_s() >= give_up) return reason;
    }
}

}  // namespace steady
