// The thread pool: every cut runs every row once, and a cut that steals lets nobody wait for a
// thread that is held up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/registry/registry.h"
#include "kernels/threads/threads.h"

namespace steady {
namespace {

struct CountedRows {
    std::vector<std::atomic<int>> rows;
    std::int64_t granule = 1;
    std::atomic<int> off_granule{0};
};

void count(const void* args, Range range) noexcept {
    auto& counted = *static_cast<CountedRows*>(const_cast<void*>(args));
    if (counted.granule < 1000 && range.begin % counted.granule != 0) ++counted.off_granule;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        ++counted.rows[static_cast<std::size_t>(r)];
    }
}

TEST(Threads, EveryCutRunsEveryRowOnce) {
    struct Size {
        std::int64_t rows, granule;
    };
    const std::vector<Size> sizes = {{0, 1},   {1, 1},     {20, 1},       {64, 32}, {65, 32},
                                     {576, 8}, {2048, 16}, {300, kWhole}, {5000, 7}};
    for (const Cut cut : {Cut::fixed, Cut::dynamic, Cut::steal}) {
        for (const int threads : {1, 2, 3}) {
            ThreadOptions options;
            options.threads = threads;
            options.cut = cut;
            ThreadPool pool(options);
            for (int again = 0; again < 10; ++again) {
                std::vector<std::unique_ptr<CountedRows>> counted;
                std::vector<Job> jobs;
                for (const auto& [rows, granule] : sizes) {
                    counted.push_back(std::make_unique<CountedRows>());
                    counted.back()->rows =
                        std::vector<std::atomic<int>>(static_cast<std::size_t>(rows));
                    counted.back()->granule = granule;
                    jobs.push_back({count, counted.back().get(), rows, granule, 0});
                }
                // The same jobs twice in one stage, beyond the number that is cut finer, and again
                // in a second stage.
                std::vector<Job> many = jobs;
                many.insert(many.end(), jobs.begin(), jobs.end());
                ASSERT_GT(many.size(), static_cast<std::size_t>(ThreadPool::kMaxJobs));
                const std::vector<Stage> stages = {many, jobs};
                pool.launch(stages);
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                    EXPECT_EQ(counted[i]->off_granule, 0);
                    for (const auto& times : counted[i]->rows) {
                        ASSERT_EQ(times, 3) << sizes[i].rows << " rows, " << threads << " threads";
                    }
                }
            }
        }
    }
}

// The thread that takes row 0 goes on only when nothing else is left but what it holds itself.
struct HeldUp {
    static constexpr int kRows = 64;
    std::atomic<int> done{0};
    std::atomic<int> held{0};  // rows that the held one had in its hands
    std::atomic<bool> late{false};
};

void hold_up(const void* args, Range range) noexcept {
    auto& state = *static_cast<HeldUp*>(const_cast<void*>(args));
    const auto n = static_cast<int>(range.end - range.begin);
    if (range.begin == 0) {
        state.held = n;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (state.done < HeldUp::kRows - n) {
            if (std::chrono::steady_clock::now() > end) {
                state.late = true;
                break;
            }
            std::this_thread::yield();
        }
    }
    state.done += n;
}

TEST(Threads, WhoIsDoneTakesFromOneHeldUp) {
    for (const int threads : {2, 3}) {
        ThreadOptions options;
        options.threads = threads;
        options.cut = Cut::steal;
        ThreadPool pool(options);
        HeldUp state;
        pool.launch(Job{hold_up, &state, HeldUp::kRows, 1, 0});
        EXPECT_FALSE(state.late);
        EXPECT_EQ(state.done, HeldUp::kRows);
        EXPECT_LE(state.held, HeldUp::kRows / threads / kPiecesPerThread);
    }
}

// Few rows belong together: a thread's heads share what they read.
TEST(Threads, FewRowsStayTogether) {
    struct Pieces {
        std::atomic<int> n{0};
    } pieces;
    ThreadOptions options;
    options.threads = 2;
    options.cut = Cut::steal;
    ThreadPool pool(options);
    const auto run = [](const void* args, Range) noexcept {
        ++static_cast<Pieces*>(const_cast<void*>(args))->n;
    };
    pool.launch(Job{run, &pieces, 20, 1, 0});
    EXPECT_EQ(pieces.n, 2);
}

}  // namespace
}  // namespace steady
