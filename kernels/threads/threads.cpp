// Workers wait on one counter, the epoch, and meet at one counting barrier; both live on cache
// lines of their own. A worker that must sleep does so in the kernel, on the epoch, so that a
// parked pool leaves the CPUs to whoever is being measured.
#include "kernels/threads/threads.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/threads/clock.h"

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

// What is left of a part, in granules, [begin, end) in one word. Its owner takes from the front, so
// that its weights stay one stream, and others from the back; all threads own a dynamic cut's.
struct Share {
    std::uint32_t begin = 0, end = 0;
    std::uint32_t size() const { return end - begin; }
};
std::uint64_t word(Share share) { return std::uint64_t{share.end} << 32U | share.begin; }
Share unpacked(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32U)};
}

Share even_share(const Job& job, int part, int parts) {
    const Range rows = even_part(job, part, parts);
    if (rows.begin >= rows.end) return {};
    if (job.granule >= job.rows) return {0, 1};
    const auto granules = [&](std::int64_t row) {
        return static_cast<std::uint32_t>((row + job.granule - 1) / job.granule);
    };
    return {granules(rows.begin), granules(rows.end)};
}

// How many granules are taken at a time. Of a stolen share few stay together: they are heads that
// share their cache, or not worth a meeting.
std::uint32_t piece_of(Share whole, const ThreadOptions& options) {
    if (options.cut == Cut::steal) {
        return whole.size() < 2 * kPiecesPerThread ? whole.size() : whole.size() / kPiecesPerThread;
    }
    const auto pieces = static_cast<std::uint32_t>(options.pieces_per_thread * options.threads);
    return std::max(whole.size() / pieces, 1U);
}

// Up to `most` granules of what is left, or none.
Share take(std::atomic<std::uint64_t>& left, std::uint32_t most, bool front) noexcept {
    std::uint64_t seen = left.load(std::memory_order_relaxed);
    for (;;) {
        const Share all = unpacked(seen);
        if (all.begin >= all.end) return {};
        const std::uint32_t n = std::min(most, all.size());
        const Share taken = front ? Share{all.begin, all.begin + n} : Share{all.end - n, all.end};
        const Share rest = front ? Share{taken.end, all.end} : Share{all.begin, taken.begin};
        if (left.compare_exchange_weak(seen, word(rest), std::memory_order_relaxed)) return taken;
    }
}

}  // namespace

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

int usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
}

std::string_view wait_name(Wait wait) { return wait == Wait::spin ? "spin" : "sleep"; }
std::string cut_name(const ThreadOptions& options) {
    if (options.cut != Cut::dynamic) return options.cut == Cut::fixed ? "static" : "steal";
    return options.pieces_per_thread == kPiecesPerThread
               ? "dynamic"
               : fmt::format("dynamic:{}", options.pieces_per_thread);
}

ThreadPool::ThreadPool(ThreadOptions options) : options_(options) {
    if (options_.threads < 1 || options_.threads > 1024) {
        throw Error{fmt::format("threads: {} is outside 1 … 1024; this process may use {} CPUs",
                                options_.threads, usable_cpus())};
    }
    make_shares();
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

void ThreadPool::make_shares() {
    const bool handed_out = options_.cut != Cut::fixed && options_.threads > 1;
    n_shares_ = !handed_out ? 0 : options_.cut == Cut::steal ? options_.threads : 1;
    shares_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(n_shares_) *
                                                      kMaxStages * kMaxJobs);
}

void ThreadPool::divide(Cut cut, int pieces_per_thread) {
    if (cut == options_.cut && pieces_per_thread == options_.pieces_per_thread) return;
    options_.cut = cut;
    options_.pieces_per_thread = pieces_per_thread;
    make_shares();
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
    prepare_shares();
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

// What a launch hands out, before any thread looks.
void ThreadPool::prepare_shares() noexcept {
    if (n_shares_ == 0) return;
    for (std::size_t i = 0; i < std::min<std::size_t>(stages_.size(), kMaxStages); ++i) {
        for (std::size_t j = 0; j < std::min<std::size_t>(stages_[i].size(), kMaxJobs); ++j) {
            for (int owner = 0; owner < n_shares_; ++owner) {
                const Share whole = even_share(stages_[i][j], owner, n_shares_);
                share(owner, i, j).store(word(whole), std::memory_order_relaxed);
            }
        }
    }
}

std::atomic<std::uint64_t>& ThreadPool::share(int owner, std::size_t stage,
                                              std::size_t job) noexcept {
    return shares_[(static_cast<std::size_t>(owner) * kMaxStages + stage) * kMaxJobs + job];
}

void ThreadPool::run_stage(int stage, int thread) noexcept {
    const Stage jobs = stages_[static_cast<std::size_t>(stage)];
    const bool shared = n_shares_ > 0 && stage < kMaxStages;
    const auto n_shared = shared ? std::min<std::size_t>(jobs.size(), kMaxJobs) : 0;
    run_shares(jobs.first(n_shared), static_cast<std::size_t>(stage), thread);
    for (const Job& job : jobs.subspan(n_shared)) {
        const Range rows = even_part(job, thread, options_.threads);
        if (rows.begin < rows.end) job.run(job.args, rows);
    }
}

// This thread's shares of all jobs from the front, then what others have left, from the back.
void ThreadPool::run_shares(Stage jobs, std::size_t stage, int thread) noexcept {
    const auto run_from = [&](std::size_t j, int owner, bool front) {
        const Job& job = jobs[j];
        const std::uint32_t piece = piece_of(even_share(job, owner, n_shares_), options_);
        for (;;) {
            const Share granules = take(share(owner, stage, j), piece, front);
            if (granules.size() == 0) return;
            job.run(job.args, {granules.begin * job.granule,
                               std::min(granules.end * job.granule, job.rows), job.phase});
        }
    };
    const int own = n_shares_ == 1 ? 0 : thread;
    for (std::size_t j = 0; j < jobs.size(); ++j) run_from(j, own, true);
    for (std::size_t j = jobs.size(); j-- > 0;) {
        for (int i = 1; i < n_shares_; ++i) run_from(j, (own + i) % n_shares_, false);
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
