// One counter starts a job, another one ends it.
#include "kernels/tool/team.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>

namespace steady::tool {
namespace {

// Spins, and lets others run when the wait is long: on a busy machine the other thread may need
// this very CPU.
template <class Done>
void wait_until(Done done) {
    for (int spins = 0; !done(); ++spins) {
        _mm_pause();
        if (spins > 4000) sched_yield();
    }
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::string CutRule::text() const {
    if (pieces_per_thread == 0) return "static";
    return pieces_per_thread == 8 ? "dynamic" : "dynamic:" + std::to_string(pieces_per_thread);
}

Team::Team(int n_threads) : n_threads_(n_threads) {
    for (int i = 1; i < n_threads; ++i) threads_.emplace_back([this, i] { work(i); });
    if (n_threads > 1) pin(0);
}

Team::~Team() {
    quit_ = true;
    started_.fetch_add(1);
    for (std::thread& thread : threads_) thread.join();
}

void Team::work(int index) {
    pin(index % static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    std::int64_t seen = 0;
    while (true) {
        wait_until([&] { return started_.load(std::memory_order_acquire) != seen; });
        ++seen;
        if (quit_) return;
        (*job_)(index);
        running_.fetch_sub(1, std::memory_order_release);
    }
}

void Team::run(const std::function<void(int)>& job) {
    job_ = &job;
    running_.store(n_threads_ - 1, std::memory_order_relaxed);
    started_.fetch_add(1, std::memory_order_release);
    job(0);
    wait_until([&] { return running_.load(std::memory_order_acquire) == 0; });
}

void Team::run(const Trial& trial, const VariantBase& variant, CutRule cut) {
    for (std::size_t phase = 0; phase < trial.phase_rows.size(); ++phase) {
        const std::int64_t rows = trial.phase_rows[phase];
        const std::int64_t granule = std::min(variant.granule, std::max<std::int64_t>(rows, 1));
        const std::int64_t n_granules = (rows + granule - 1) / granule;
        const int number = static_cast<int>(phase);
        const auto border = [&](int i) {
            return std::min(rows, n_granules * i / n_threads_ * granule);
        };
        const auto fixed = [&](int i) {
            const Range range{border(i), border(i + 1), number};
            if (range.begin < range.end) trial.run(variant, range);
        };
        std::atomic<std::int64_t> next{0};
        const std::int64_t share = rows / (std::max(cut.pieces_per_thread, 1) * n_threads_);
        const std::int64_t piece = std::max<std::int64_t>(share / granule, 1) * granule;
        const auto dynamic = [&](int) {
            for (;;) {
                const std::int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
                if (begin >= rows) return;
                trial.run(variant, {begin, std::min(begin + piece, rows), number});
            }
        };
        const bool even = cut.pieces_per_thread == 0;
        if (n_threads_ == 1) {
            even ? fixed(0) : dynamic(0);
        } else {
            even ? run(fixed) : run(dynamic);
        }
    }
}

}  // namespace steady::tool
