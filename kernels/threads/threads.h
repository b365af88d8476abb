// The thread pool that divides an op's rows among CPUs, in the engine and in steady-kernels. One
// call of launch() is one parallel region: its stages run one after the other with a barrier
// between them, the jobs of a stage at the same time. How rows are divided and how threads wait are
// declared options, because two arms of an experiment may differ in nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernels/registry/range.h"

namespace steady {

// Between launches a worker spins (and yields the CPU after a while), or spins shortly and sleeps.
enum class Wait { spin, sleep };
// Rows are cut once, evenly; or handed out piece by piece to whoever is free; or cut evenly, and
// who is done first takes pieces from the end of another's share.
enum class Cut { fixed, dynamic, steal };
constexpr int kPiecesPerThread = 8;  // of a dynamic cut, unless the options say otherwise

struct ThreadOptions {
    int threads = 1;
    Wait wait = Wait::spin;
    Cut cut = Cut::steal;  // by journal entry 2026-11-23-champion-cut-steal-9bf994f1
    int pieces_per_thread = kPiecesPerThread;  // dynamic cut only
    bool pin = false;                          // thread i to the i-th CPU this process may use
};

// Work of one kernel: rows [0, rows), to be cut at multiples of granule (kWhole: never cut).
struct Job {
    void (*run)(const void* args, Range rows) noexcept = nullptr;
    const void* args = nullptr;
    std::int64_t rows = 0;
    std::int64_t granule = 1;
    int phase = 0;
};

using Stage = std::span<const Job>;  // independent of each other

struct LaunchCounters {
    std::int64_t launches = 0;    // parallel regions
    std::int64_t barriers = 0;    // ends of stages, each a meeting of all threads
    std::int64_t barrier_ns = 0;  // what the calling thread waited there; only when timed
};

class ThreadPool {
public:
    // Error if a thread cannot be started or pinned.
    explicit ThreadPool(ThreadOptions options);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Runs the stages on all threads, the caller among them; returns when the last is complete.
    // The cut never changes a bit of the result.
    void launch(std::span<const Stage> stages) noexcept;
    void launch(const Job& job) noexcept;

    // Wakes parked workers, so that the next launch finds them waiting. Not counted as a launch.
    void wake() noexcept;
    // Workers sleep in the kernel from now until the next launch: an idle pool takes no CPU.
    void park() noexcept;

    // How later launches divide their rows. Not during a launch.
    void divide(Cut cut, int pieces_per_thread);

    const ThreadOptions& options() const { return options_; }
    LaunchCounters& counters() { return counters_; }
    void time_barriers(bool on) { time_barriers_ = on; }

    static constexpr int kMaxStages = 8;
    static constexpr int kMaxJobs = 16;  // per stage; beyond either, every cut is a static one

private:
    void make_shares();
    void work(int thread) noexcept;
    void run_stages(int thread) noexcept;
    void run_stage(int stage, int thread) noexcept;
    void prepare_shares() noexcept;
    void run_shares(Stage jobs, std::size_t stage, int thread) noexcept;
    std::atomic<std::uint64_t>& share(int owner, std::size_t stage, std::size_t job) noexcept;
    void meet(int thread) noexcept;
    std::uint32_t wait_for_launch(std::uint32_t seen) noexcept;

    ThreadOptions options_;
    LaunchCounters counters_;
    bool time_barriers_ = false;
    std::span<const Stage> stages_;
    int n_shares_ = 0;  // of a job: one per thread to steal from, one for all, or none
    std::vector<std::atomic<std::uint64_t>> shares_;  // [n_shares_][kMaxStages][kMaxJobs]
    std::vector<std::thread> workers_;

    alignas(64) std::atomic<std::uint32_t> epoch_{0};    // one more per launch
    alignas(64) std::atomic<std::uint32_t> arrived_{0};  // at the barrier, this meeting
    alignas(64) std::atomic<std::uint32_t> meeting_{0};
    alignas(64) std::atomic<int> sleepers_{0};
    std::atomic<bool> parked_{false};
    std::atomic<bool> stop_{false};
};

// CPUs that this process may run on.
int usable_cpus();
// The calling thread runs on the index-th of them from now on; on any of them if there are fewer.
void pin_to_cpu(int index);

std::string_view wait_name(Wait wait);
std::string cut_name(const ThreadOptions& options);  // "static", "dynamic", "dynamic:16", "steal"

}  // namespace steady
