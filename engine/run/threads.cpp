// Workers wait on one counter, the epoch, and meet at one counting barrier; both live on cache
// lines of their own. A worker that must sleep does so in the kernel, on the epoch, so that a
// parked pool leaves the CPUs to whoever is being measured.
#include "engine/run/threads.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <system_error>

#include "engine/protocol/error.h"
#include "engine/run/clock.h"

namespace steady {
namespace {

constexpr int kSpinsBeforeYield = 1 << 11;
constexpr int kSpinsBeforeSleep = 1 << 12;

void relax() noexcept { __builtin_ia32_pause(); }

// Thread `part` of `parts`: its rows, cut at multiples of the granule.
Range even_part(const Job& job, int part, int parts) {
    if (job.granule >= job.rows) return part == 0 ? Range{0, job.rows, job.phase} : Range{};
    const std::int64_t pieces = (job.rows + job.granule - 1) / job.granule;
    const std::int64_t begin = pieces * part / parts * job.granule;
    const std::int64_t end = std::min(pieces * (part + 1) / parts * job.granule, job.rows);
    return {begin, end, job.phase};
}

std::int64_t dynamic_piece(const Job& job, const ThreadOptions& options) {
    if (job.granule >= job.rows) return job.rows;
    const std::int64_t wanted = job.rows / (options.pieces_per_thread * options.threads);
    return std::max<std::int64_t>(wanted / job.granule, 1) * job.granule;
}

void pin_to_cpu(int index) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    int seen = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || seen++ != index) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
        return;
    }
}

}  // namespace

int usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
}

std::string_view wait_name(Wait wait) { return wait == Wait::spin ? "spin" : "sleep"; }
std::string cut_name(const ThreadOptions& options) {
    if (options.cut == Cut::fixed) return "static";
    return options.pieces_per_thread == kPiecesPerThread
               ? "dynamic"
               : fmt::format("dynamic:{}", options.pieces_per_thread);
}

ThreadPool::ThreadPool(ThreadOptions options) : options_(options) {
    if (options_.threads < 1 || options_.threads > 1024) {
        throw Error{fmt::format("threads: {} is outside 1 … 1024; this process may use {} CPUs",
                                options_.threads, usable_cpus())};
    }
    try {
        for (int i = 1; i < options_.threads; ++i) {
            workers_.emplace_back([this, i] {
                if (options_.pin) pin_to_cpu(i);
                work(i);
            });
        }
    } catch (const std::system_error& error) {
        stop_.store(true);
        epoch_.fetch_add(1);
        epoch_.notify_all();
        for (std::thread& worker : workers_) worker.join();
        throw Error{fmt::format("cannot start thread {} of {}: {}; ask for fewer with --threads",
                                workers_.size() + 2, options_.threads, error.what()),
                    kExitInternal};
    }
}

ThreadPool::~ThreadPool() {
    stop_.store(true);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::launch(const Job& job) noexcept {
    const Stage stage{&job, 1};
    launch({&stage, 1});
}

void ThreadPool::launch(std::span<const Stage> stages) noexcept {
    ++counters_.launches;
    counters_.barriers += static_cast<std::int64_t>(stages.size());
    stages_ = stages;
    if (options_.cut == Cut::dynamic) {
        for (std::size_t i = 0; i < std::min<std::size_t>(stages.size(), kMaxStages); ++i) {
            const std::size_t jobs = std::min<std::size_t>(stages[i].size(), kMaxJobs);
            for (std::size_t j = 0; j < jobs; ++j) {
                next_row_[i][j].store(0, std::memory_order_relaxed);
            }
        }
    }
    if (workers_.empty()) return run_stages(0);
    parked_.store(false, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) epoch_.notify_all();
    run_stages(0);
}

void ThreadPool::run_stages(int thread) noexcept {
    const std::span<const Stage> stages = stages_;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        run_stage(static_cast<int>(i), thread);
        meet(thread);
    }
}

void ThreadPool::run_stage(int stage, int thread) noexcept {
    const Stage jobs = stages_[static_cast<std::size_t>(stage)];
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Job& job = jobs[j];
        if (options_.cut == Cut::fixed || stage >= kMaxStages || j >= kMaxJobs) {
            const Range rows = even_part(job, thread, options_.threads);
            if (rows.begin < rows.end) job.run(job.args, rows);
            continue;
        }
        const std::int64_t piece = dynamic_piece(job, options_);
        std::atomic<std::int64_t>& next = next_row_[static_cast<std::size_t>(stage)][j];
        for (;;) {
            const std::int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
            if (begin >= job.rows) break;
            job.run(job.args, {begin, std::min(begin + piece, job.rows), job.phase});
        }
    }
}

// A counting barrier. The last to arrive opens the next meeting; nobody sleeps here, since the wait
// is a fraction of one kernel's time.
void ThreadPool::meet(int thread) noexcept {
    const auto n = static_cast<std::uint32_t>(options_.threads);
    if (n == 1) return;
    const std::int64_t begin = thread == 0 && time_barriers_ ? now_ns() : 0;
    const std::uint32_t meeting = meeting_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n) {
        arrived_.store(0, std::memory_order_relaxed);
        meeting_.store(meeting + 1, std::memory_order_release);
    } else {
        for (int spins = 1; meeting_.load(std::memory_order_acquire) == meeting; ++spins) {
            relax();
            if (spins % kSpinsBeforeYield == 0) sched_yield();
        }
    }
    if (begin != 0) counters_.barrier_ns += now_ns() - begin;
}

void ThreadPool::wake() noexcept {
    const LaunchCounters before = counters_;
    const Job nothing{[](const void*, Range) noexcept {}, nullptr, options_.threads, 1, 0};
    launch(nothing);
    counters_ = before;
}

void ThreadPool::park() noexcept { parked_.store(true, std::memory_order_relaxed); }

std::uint32_t ThreadPool::wait_for_launch(std::uint32_t seen) noexcept {
    for (int spins = 1;; ++spins) {
        const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
        if (epoch != seen) return epoch;
        const bool sleeps = options_.wait == Wait::sleep && spins > kSpinsBeforeSleep;
        if (sleeps || parked_.load(std::memory_order_relaxed)) {
            sleepers_.fetch_add(1, std::memory_order_seq_cst);
            epoch_.wait(seen, std::memory_order_acquire);
            sleepers_.fetch_sub(1, std::memory_order_relaxed);
            continue;
        }
        relax();
        if (spins % kSpinsBeforeYield == 0) sched_yield();
    }
}

void ThreadPool::work(int thread) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
        seen = wait_for_launch(seen);
        if (stop_.load(std::memory_order_acquire)) return;
        run_stages(thread);
    }
}

}  // namespace steady
