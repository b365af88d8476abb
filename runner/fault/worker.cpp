// The worker of a fault run: the real Worker with an experiment whose numbers are known. Its
// children are forks that log when they begin and end; they hold the host lock as real ones do.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "runner/fault/parts.h"
#include "runner/record/record_json.h"

namespace steady::drill {
namespace {

constexpr long kChildWork_ns = 3'000'000;

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

// After fork in a process with threads: system calls only.
void write_stamp(int fd, char what) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    char line[64];
    const int n =
        std::snprintf(line, sizeof line, "%c %d %lld%09ld\n", what, static_cast<int>(::getpid()),
                      static_cast<long long>(now.tv_sec), now.tv_nsec);
    [[maybe_unused]] const auto written = ::write(fd, line, static_cast<std::size_t>(n));
}

// True when the child ran to its end; false when somebody killed it.
bool run_stamping_child(const std::string& path) {
    const Fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        write_stamp(fd.get(), 'B');
        const timespec work{0, kChildWork_ns};
        ::nanosleep(&work, nullptr);
        write_stamp(fd.get(), 'E');
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

JobResult measure_all(const Place& place, int host, Job& job) {
    for (const Pair& planned : job.store->load_pairs(job.lease.job)) {
        if (planned.sealed) continue;
        bool ran = false;
        while (!ran) {
            if (job.should_stop()) return {.how = JobResult::How::stopped};
            ran = run_stamping_child(place.stamps(host));
        }
        const Pair pair = filled(planned, job.lease.job);
        job.sink->put_pair(pair);
        append_line(place.acks(host), fmt::format("{} {} {} {} {} {}", job.lease.job, pair.gate,
                                                  static_cast<int>(pair.kind), pair.number,
                                                  pair.attempt, job.lease.epoch));
    }
    return {.how = JobResult::How::decided,
            .verdict = "accept",
            .analysis_json = nlohmann::json(Analysis{}).dump(),
            .sentence = "Every pair was measured."};
}

WorkerOptions worker_options(const Place& place, int host, const FaultOptions& options) {
    WorkerOptions worker;
    worker.url = place.url;
    worker.times = times_of(options.lease_s);
    worker.poll_s = 0.05;
    worker.host = fmt::format("drillhost{:03}", host);
    worker.host_lock_path = fmt::format("{}/lock-{}", place.folder, host);
    worker.spool_dir = fmt::format("{}/spool-{}", place.folder, host);
    worker.synchronous_commit = options.synchronous_commit;
    return worker;
}

}  // namespace

std::string Place::stamps(int host) const { return fmt::format("{}/stamps-{}", folder, host); }
std::string Place::acks(int host) const { return fmt::format("{}/acks-{}", folder, host); }
std::string Place::fenced() const { return folder + "/fenced"; }

Pair filled(Pair pair, std::int64_t job) {
    std::uint64_t state = static_cast<std::uint64_t>(job) * 1000003U +
                          static_cast<std::uint64_t>(pair.number) * 1009U +
                          static_cast<std::uint64_t>(pair.gate) * 17U +
                          static_cast<std::uint64_t>(pair.kind) * 5U +
                          static_cast<std::uint64_t>(pair.attempt);
    for (auto* arm : {&pair.a, &pair.b}) {
        auto& values = (*arm)["token_ns"];
        for (int i = 0; i < kValuesPerArm; ++i) {
            state = mixed(state);
            values.push_back(1.0 + static_cast<double>(state >> 11U) * 0x1p-53 * 1e6);
        }
    }
    return pair;
}

void append_line(const std::string& path, const std::string& line) {
    const Fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    const std::string text = line + "\n";
    [[maybe_unused]] const auto n = ::write(fd.get(), text.data(), text.size());
}

void live_as_worker(const Place& place, int host, const FaultOptions& options) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Worker worker(worker_options(place, host, options));
    const RunJob run = [&](Job& job) { return measure_all(place, host, job); };
    for (;;) {
        try {
            const Worked worked = worker.work_one(run);
            if (worked.end == WorkEnd::lease_lost &&
                worked.note.find("is not held by worker") != std::string::npos) {
                append_line(place.fenced(), worked.note);
            }
            if (worked.end == WorkEnd::decided) continue;
        } catch (const std::exception& error) {
            append_line(place.folder + "/trouble", error.what());
        }
        ::usleep(50'000);
    }
}

}  // namespace steady::drill
