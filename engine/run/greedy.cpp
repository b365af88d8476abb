// The loop under verb generate.
#include "engine/run/greedy.h"

#include <atomic>

#include "engine/run/decode.h"
#include "engine/text/sampler.h"

namespace steady {
namespace {

constexpr std::int32_t kUntold = INT32_MIN;
constexpr std::int64_t kLongest_ns = 100'000'000;  // that the host looks for a token by itself

}  // namespace

void Greedy::Release::operator()(Told* told) const noexcept {
    on_gpu ? gpu::release_on_host(told) : delete told;
}

Greedy::Greedy(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t n)
    : arm_(&arm), n_(n), fed_(static_cast<std::int64_t>(tokens.size())) {
    if (!arm.joined) {
        logits_ = feed(arm, tokens);
        return;
    }
    const bool on_gpu = arm.on_gpu();
    told_ = {on_gpu ? static_cast<Told*>(gpu::allocate_on_host(sizeof(Told))) : new Told,
             Release{on_gpu}};
    feed(arm, tokens, 0, Want::made);
    begin_choosing(arm, fed_ - 1);
    choose(0);
}

Greedy::~Greedy() {
    if (told_ == nullptr || !arm_->on_gpu()) return;
    try {
        gpu::finish();  // it may still tell
    } catch (const Error&) {
        // Told already, or by whoever uses the GPU next.
    }
}

void Greedy::choose(std::int64_t choice) {
    slot(choice) = kUntold;
    choose_token(*arm_, &slot(choice));
}

std::int32_t Greedy::await(std::int64_t choice) {
    const std::atomic_ref<std::int32_t> told(slot(choice));
    const std::int64_t begin = now_ns();
    while (told.load(std::memory_order_acquire) == kUntold) {
        if (now_ns() - begin > kLongest_ns) {
            gpu::finish();  // Error when the GPU failed
            break;
        }
        __builtin_ia32_pause();
    }
    const std::int32_t token = told.load(std::memory_order_acquire);
    if (token < 0) refuse_logits(static_cast<std::size_t>(arm_->config.n_vocab));
    return token;
}

std::int32_t Greedy::next() {
    const std::int64_t choice = given_++;
    if (told_ == nullptr) {
        if (choice > 0) logits_ = feed(*arm_, {&last_, 1}, fed_++);
        return last_ = greedy_token(logits_);
    }
    if (given_ < n_) {
        forward_chosen(*arm_, fed_++);
        choose(given_);
    }
    return await(choice);
}

}  // namespace steady
