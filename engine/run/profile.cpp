// Counters to rates.
#include "engine/run/profile.h"

#include <algorithm>

#include "engine/model/forward.h"
#include "engine/run/decode.h"

namespace steady {
namespace {

void reset(Arm& arm) {
    for_each_op(arm.counters, [](auto& counted) { counted.counter = {}; });
    arm.pool.counters() = {};
}

// Runs `work`, which is n tokens, with all timers on.
template <class Work>
Profile profile(Arm& arm, double n, Work work) {
    reset(arm);
    arm.timed = true;
    arm.pool.time_barriers(true);
    const std::int64_t begin = now_ns();
    work();
    Profile profile;
    profile.token_ns = static_cast<double>(now_ns() - begin) / n;
    arm.timed = false;
    arm.pool.time_barriers(false);
    for_each_op(arm.counters, [&](const auto& counted) {
        using Op = typename std::decay_t<decltype(counted)>::OpType;
        const OpCounter& c = counted.counter;
        if (c.calls == 0) return;
        profile.rows.push_back({Op::name, std::string(arm.plan.variant<Op>().name),
                                static_cast<double>(c.calls) / n, static_cast<double>(c.ns) / n,
                                static_cast<double>(c.bytes) / n});
    });
    std::stable_sort(profile.rows.begin(), profile.rows.end(),
                     [](const auto& x, const auto& y) { return x.ns_per_token > y.ns_per_token; });
    const LaunchCounters& launches = arm.pool.counters();
    profile.launches_per_token = static_cast<double>(launches.launches) / n;
    profile.barriers_per_token = static_cast<double>(launches.barriers) / n;
    profile.barrier_ns_per_token = static_cast<double>(launches.barrier_ns) / n;
    return profile;
}

}  // namespace

Profile profile_decode(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t n_prompt,
                       std::int64_t depth) {
    feed(arm, tokens.first(static_cast<std::size_t>(n_prompt)));
    repeat_prompt(arm, n_prompt, depth);
    const auto n = static_cast<double>(tokens.size()) - static_cast<double>(n_prompt);
    return profile(arm, n, [&] {
        for (std::size_t p = static_cast<std::size_t>(n_prompt); p < tokens.size(); ++p) {
            forward(arm, tokens[p], static_cast<std::int64_t>(p) + depth);
        }
    });
}

Profile profile_prompt(Arm& arm, std::span<const std::int32_t> tokens) {
    feed(arm, tokens);
    return profile(arm, static_cast<double>(tokens.size()), [&] { feed(arm, tokens); });
}

protocol::AppliedArm applied_arm(Arm& arm) {
    reset(arm);
    forward(arm, 0, 0);
    protocol::AppliedArm applied;
    for_each_op(arm.plan.kernels, [&](const auto& choice) {
        using Op = typename std::decay_t<decltype(choice)>::OpType;
        applied.kernels[Op::name] = {std::string(choice.variant->name),
                                     std::string(reason_name(choice.reason)),
                                     static_cast<double>(arm.counter<Op>().calls)};
    });
    applied.steps = {{"moe", std::string(arm.plan.moe->name)},
                     {"mla", std::string(arm.plan.mla->name)},
                     {"norm", std::string(arm.plan.norm->name)}};
    applied.threads = arm.pool.options().threads;
    applied.engine_flags = engine_flags(arm.options);
    applied.launches_per_token = static_cast<double>(arm.pool.counters().launches);
    applied.weight_bytes_per_token = arm.weights.bytes_per_token;
    arm.pool.park();
    return applied;
}

}  // namespace steady
