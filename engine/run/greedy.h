// Greedy decoding: each token is that of the largest logit. Where a block's ops are joined it is
// chosen where the logits are: a GPU goes on before the host knows it, and keeps the logits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/model/arm.h"

namespace steady {

class Greedy {
public:
    // Behind these tokens, which are fed at positions 0 …, at most n more; n ≥ 1, and the context
    // holds them all.
    Greedy(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t n);
    ~Greedy();
    Greedy(const Greedy&) = delete;
    Greedy& operator=(const Greedy&) = delete;

    // The next of the n. Error where no logit is a number, or the GPU failed.
    std::int32_t next();

private:
    // A choice is told while the pass behind it runs, so two are open at most.
    using Told = std::array<std::int32_t, 2>;
    struct Release {
        bool on_gpu;
        void operator()(Told* told) const noexcept;
    };

    std::int32_t& slot(std::int64_t choice) {
        return (*told_)[static_cast<std::size_t>(choice % 2)];
    }
    void choose(std::int64_t choice);
    std::int32_t await(std::int64_t choice);

    Arm* arm_;
    std::int64_t n_, fed_, given_ = 0;
    std::int32_t last_ = 0;
    std::span<const float> logits_;        // where the host chooses
    std::unique_ptr<Told, Release> told_;  // where it does not
};

}  // namespace steady
