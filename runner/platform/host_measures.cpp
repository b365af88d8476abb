// What a second of measuring tells about a machine.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "runner/platform/files.h"
#include "runner/platform/host_checks.h"
#include "runner/platform/noise.h"
#include "runner/statistics/statistics.h"

namespace steady {
namespace {

double seconds_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Steps of a chain of multiplications per second, over `seconds`: bound by one core's clock alone.
double compute_rate(double seconds) {
    constexpr int kSteps = 20000;
    std::uint64_t value = 1;
    long long steps = 0;
    const double begin = seconds_now();
    double now = begin;
    while (now - begin < seconds) {
        for (int i = 0; i < kSteps; ++i)
            value = value * 6364136223846793005U + 1442695040888963407U;
        steps += kSteps;
        now = seconds_now();
    }
    // The product must be used, or the compiler leaves the chain out.
    return static_cast<double>(steps) / (now - begin) + (value == 0 ? 1 : 0);
}

double rate_together(unsigned threads, double seconds) {
    std::vector<double> rates(threads);
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) {
        all.emplace_back([&rates, i, seconds] { rates[i] = compute_rate(seconds); });
    }
    for (std::thread& thread : all) thread.join();
    return median(rates);
}

double after_pause() {
    std::vector<double> ratios;
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const double first = compute_rate(0.005);
        compute_rate(0.03);
        ratios.push_back(first / compute_rate(0.01));
    }
    return median(ratios);
}

// One thread reading 64 MiB twenty times: what memory gives, and how evenly.
void measure_memory(HostMeasures& measures) {
    const std::vector<std::uint64_t> memory((std::size_t{64} << 20U) / sizeof(std::uint64_t), 1);
    std::vector<double> log_rates;
    std::uint64_t sum = 0;
    for (int pass = 0; pass < 20; ++pass) {
        const double begin = seconds_now();
        sum = std::accumulate(memory.begin(), memory.end(), sum);
        log_rates.push_back(
            std::log(static_cast<double>(memory.size()) * 8e-9 / (seconds_now() - begin)));
    }
    measures.read_gb_per_s = std::exp(median(log_rates));
    measures.read_spread = sum == 0 ? 0 : kMadToSigma * mad(log_rates);
}

double clock_reading_ns() {
    constexpr int kReads = 10000;
    const double begin = seconds_now();
    for (int i = 0; i < kReads; ++i) static_cast<void>(seconds_now());
    return 1e9 * (seconds_now() - begin) / kReads;
}

// 0 where nothing can be written.
double sync_ms(const std::string& folder) {
    std::string path = folder + "/doctor-XXXXXX";
    const Fd file(::mkstemp(path.data()));
    if (!file) return 0;
    ::unlink(path.c_str());
    const std::string bytes(8192, 'x');
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) {
        const double begin = seconds_now();
        if (::pwrite(file.get(), bytes.data(), bytes.size(), i * 8192) < 0 ||
            ::fdatasync(file.get()) != 0) {
            return 0;
        }
        times.push_back(1e3 * (seconds_now() - begin));
    }
    return median(times);
}

bool hardware_counters() {
    perf_event_attr asked{};
    asked.type = PERF_TYPE_HARDWARE;
    asked.size = sizeof asked;
    asked.config = PERF_COUNT_HW_INSTRUCTIONS;
    asked.exclude_kernel = 1;
    asked.exclude_hv = 1;
    return static_cast<bool>(
        Fd(static_cast<int>(::syscall(SYS_perf_event_open, &asked, 0, -1, -1, 0UL))));
}

struct ProcessTime {
    std::string program;
    unsigned user = 0;
    double seconds = 0;
};

std::string user_name(unsigned id) {
    passwd entry{};
    passwd* found = nullptr;
    char text[4096];
    const int failed = ::getpwuid_r(id, &entry, text, sizeof text, &found);
    return failed == 0 && found != nullptr ? std::string(entry.pw_name)
                                           : fmt::format("user {}", id);
}

// CPU time of every process that /proc shows, by its id.
std::map<int, ProcessTime> process_times() {
    std::map<int, ProcessTime> all;
    const double tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    DIR* const folder = ::opendir("/proc");
    if (folder == nullptr) return all;
    while (const dirent* entry = ::readdir(folder)) {
        const int id = std::atoi(entry->d_name);
        if (id <= 0 || id == ::getpid()) continue;
        const std::string path = fmt::format("/proc/{}", id);
        const std::string stat = read_line_or_empty(path + "/stat");
        const auto open = stat.find('('), close = stat.rfind(')');
        struct stat owner {};
        if (close == std::string::npos || ::stat(path.c_str(), &owner) != 0) continue;
        unsigned long user = 0, system = 0;
        if (std::sscanf(stat.c_str() + close + 1,
                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                        &system) != 2) {
            continue;
        }
        all[id] = {stat.substr(open + 1, close - open - 1), owner.st_uid,
                   static_cast<double>(user + system) / tick};
    }
    ::closedir(folder);
    return all;
}

}  // namespace

HostMeasures measure_host(const std::string& disk_folder) {
    HostMeasures measures;
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    compute_rate(0.05);
    std::vector<double> ratios;
    for (int i = 0; i < 3; ++i) {
        const double alone = compute_rate(0.05);
        ratios.push_back(rate_together(threads, 0.05) / alone);
    }
    measures.together = median(ratios);
    measures.after_pause = after_pause();
    measure_memory(measures);
    measures.clock_reading_ns = clock_reading_ns();
    measures.sync_ms = sync_ms(disk_folder);
    measures.hardware_counters = hardware_counters();
    return measures;
}

HostLoad host_load(double seconds) {
    HostLoad load;
    const auto before = process_times();
    const NoiseMark begin = noise_mark();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const NoiseMark end = noise_mark();
    const Noise noise = noise_between(begin, end);
    load.steal_share = noise.steal_share;
    load.busy_others_share = noise.busy_others_share;
    load.pressure = cpu_pressure();
    load.load = std::strtod(read_line_or_empty("/proc/loadavg").c_str(), nullptr);
    std::map<std::string, double> shares;
    for (const auto& [id, now] : process_times()) {
        const auto was = before.find(id);
        const double spent = now.seconds - (was == before.end() ? 0 : was->second.seconds);
        shares[fmt::format("{} ({})", now.program, user_name(now.user))] +=
            spent / (end.wall_s - begin.wall_s) / end.cpus;
    }
    std::vector<std::pair<double, std::string>> busy;
    for (const auto& [who, share] : shares) {
        if (share >= 0.005) busy.emplace_back(share, fmt::format("{} {:.0f} %", who, 100 * share));
    }
    std::sort(busy.rbegin(), busy.rend());
    for (auto& [share, words] : busy) load.busiest.push_back(std::move(words));
    return load;
}

}  // namespace steady
