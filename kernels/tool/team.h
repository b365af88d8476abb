// Threads for benchmarks: the engine's pool, with its threads pinned, so that a phase is divided as
// the engine divides it and what is timed is the kernel and not the wake-up.
#pragma once

#include <functional>
#include <string>

#include "kernels/cases/op_info.h"
#include "kernels/threads/threads.h"

namespace steady::tool {

// How a phase is divided: evenly, once, or into pieces that whoever is free takes next. The
// engine's flag --cut has the same words: static, dynamic (8 pieces per thread), dynamic:N. Its
// steal, for threads that something else delays, is not offered here.
struct CutRule {
    int pieces_per_thread = 0;  // 0: static
    std::string text() const;
};

class Team {
public:
    explicit Team(int n_threads);
    int size() const { return pool_.options().threads; }

    // Calls job(i) for i in [0, size), one per thread, and waits for all.
    void run(const std::function<void(int)>& job);

    // All phases of an op, each divided at multiples of the variant's granule.
    void run(const Trial& trial, const VariantBase& variant, CutRule cut = {});

private:
    void launch(const Job& job, CutRule cut);
    ThreadPool pool_;
};

}  // namespace steady::tool
