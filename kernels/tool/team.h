// Threads for benchmarks: a phase is cut evenly among them, as the engine does. They spin between
// phases, so that what is timed is the kernel and not the wake-up.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cases/op_info.h"

namespace steady::tool {

// How a phase is cut: evenly, once, or into pieces that whoever is free takes next. The engine's
// flag --cut has the same words: static, dynamic (8 pieces per thread), dynamic:N; and steal, which
// is about neighbours that hold a thread up, and which a kernel alone has no use for.
struct CutRule {
    int pieces_per_thread = 0;  // 0: static
    std::string text() const;
};

class Team {
public:
    explicit Team(int n_threads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    int size() const { return n_threads_; }

    // Calls job(i) for i in [0, size), one per thread, and waits for all.
    void run(const std::function<void(int)>& job);

    // All phases of an op, each cut at multiples of the variant's granule.
    void run(const Trial& trial, const VariantBase& variant, CutRule cut = {});

private:
    void work(int index);
    int n_threads_;
    const std::function<void(int)>* job_ = nullptr;
    std::atomic<std::int64_t> started_{0};
    std::atomic<int> running_{0};
    std::atomic<bool> quit_{false};
    std::vector<std::thread> threads_;
};

}  // namespace steady::tool
