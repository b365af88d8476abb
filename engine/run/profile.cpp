// Converts counters to rates.
#include "engine/run/profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "engine/exec/code.h"
#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/machine.h"
#include "kernels/registry/cpu.h"
#include "kernels/runtime/read_limit.h"

namespace steady {
namespace {

constexpr std::size_t kMaxRounds = 8;

void reset(Arm& arm) {
    for_each_op(arm.counters, [](auto& counted) { counted.counter = {}; });
    arm.pool.counters() = {};
}

// Nanoseconds that `work` takes with all timers on.
template <class Work>
double timed_ns(Arm& arm, Work work) {
    arm.timed = true;
    arm.pool.time_barriers(true);
    const std::int64_t begin = now_ns();
    work();
    const std::int64_t end = now_ns();
    arm.timed = false;
    arm.pool.time_barriers(false);
    return static_cast<double>(end - begin);
}

double timed_decode_ns(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t position) {
    return timed_ns(arm, [&] {
        for (const std::int32_t token : tokens) forward(arm, token, position++, Want::made);
    });
}

// What the arm counted since it was reset: n tokens in `ns`.
Profile profile_of(Arm& arm, double n, double ns) {
    Profile profile;
    profile.token_ns = ns / n;
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

// Feeds the tokens once more, issued as the arm says: the timers have each op launched by itself.
void count_as_issued(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t position,
                     Profile& profile) {
    if (!arm.on_gpu()) return;
    const auto n = static_cast<double>(tokens.size());
    arm.pool.counters() = {};
    const gpu::Waits before = gpu::waits();
    for (const std::int32_t token : tokens) forward(arm, token, position++, Want::made);
    const gpu::Waits after = gpu::waits();
    profile.launches_per_token = static_cast<double>(arm.pool.counters().launches) / n;
    profile.barriers_per_token = static_cast<double>(after.waits - before.waits) / n;
    profile.barrier_ns_per_token = (after.ns - before.ns) / n;
}

using OpTimes = std::map<std::string_view, std::vector<double>>;  // op → per token, each round

// Moves what the ops took in a round of n tokens from the counters to `times`.
void take_round(Arm& arm, double n, OpTimes& times) {
    for_each_op(arm.counters, [&](auto& counted) {
        using Op = typename std::decay_t<decltype(counted)>::OpType;
        times[Op::name].push_back(static_cast<double>(counted.counter.ns) / n);
        counted.counter.ns = 0;
    });
}

// Puts the prompt and the positions repeated behind it into the cache, uncounted.
void fill_cache(Arm& arm, std::span<const std::int32_t> prompt, std::int64_t depth) {
    feed(arm, prompt);
    repeat_prompt(arm, static_cast<std::int64_t>(prompt.size()), depth);
    reset(arm);
}

}  // namespace

Profile profile_decode(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t n_prompt,
                       std::int64_t depth) {
    const auto first = static_cast<std::size_t>(n_prompt);
    fill_cache(arm, tokens.first(first), depth);
    const std::span<const std::int32_t> counted = tokens.subspan(first);
    const double ns = timed_decode_ns(arm, counted, n_prompt + depth);
    Profile profile = profile_of(arm, static_cast<double>(counted.size()), ns);
    count_as_issued(arm, counted, n_prompt + depth, profile);
    return profile;
}

std::array<Profile, 2> profile_in_turns(Arm& a, Arm& b, std::span<const std::int32_t> tokens,
                                        std::int64_t n_prompt, std::int64_t depth) {
    const auto first = static_cast<std::size_t>(n_prompt);
    Arm* const arms[] = {&a, &b};
    double ns[] = {0, 0};
    OpTimes times[2];
    for (Arm* arm : arms) {
        fill_cache(*arm, tokens.first(first), depth);
        arm->pool.park();
    }
    const std::size_t n_counted = tokens.size() - first;
    const std::size_t rounds = std::gcd(n_counted, kMaxRounds);
    const std::size_t n = n_counted / rounds;
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::size_t at = first + round * n;
        for (const std::size_t turn : {round, round + 1}) {  // A B, B A, A B, …
            Arm& arm = *arms[turn % 2];
            arm.pool.wake();
            ns[turn % 2] +=
                timed_decode_ns(arm, tokens.subspan(at, n), static_cast<std::int64_t>(at) + depth);
            arm.pool.park();
            take_round(arm, static_cast<double>(n), times[turn % 2]);
        }
    }
    const auto all = static_cast<double>(n_counted);
    std::array<Profile, 2> profiles = {profile_of(a, all, ns[0]), profile_of(b, all, ns[1])};
    for (std::size_t arm = 0; arm < 2; ++arm) {
        count_as_issued(*arms[arm], tokens.subspan(first), n_prompt + depth, profiles[arm]);
        for (protocol::ProfileRow& row : profiles[arm].rows) {
            row.ns_per_token = median(times[arm].at(row.op));
        }
    }
    return profiles;
}

Profile profile_prompt(Arm& arm, std::span<const std::int32_t> tokens) {
    feed(arm, tokens);
    reset(arm);
    const double ns = timed_ns(arm, [&] { feed(arm, tokens); });
    return profile_of(arm, static_cast<double>(tokens.size()), ns);
}

double memory_read_gb_per_s(Arm& arm, std::int64_t weight_bytes, int passes) {
    if (arm.on_gpu()) return gpu::read_limit_gb_per_s();
    if (weight_bytes <= cpu::last_level_cache_bytes()) return 0;
    const PageBuffer memory(kReadProbeBytes);
    return read_limit(arm.pool, memory.bytes(), passes).gb_per_s;
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
        applied.kernels[Op::name].code = code_of(Op::name, choice.variant->name);
    });
    applied.steps = {{"block", std::string(arm.plan.block->name)},
                     {"moe", std::string(arm.plan.moe->name)},
                     {"mla", std::string(arm.plan.mla->name)},
                     {"norm", std::string(arm.plan.norm->name)}};
    for (const auto& [step, alternative] : applied.steps) {
        const std::string_view code = code_of(step, alternative);
        if (!code.empty()) applied.code[step] = code;
    }
    applied.code["exec"] = code_of("exec", "threads");
    applied.threads = arm.pool.options().threads;
    applied.engine_flags = engine_flags(arm.options);
    applied.launches_per_token = static_cast<double>(arm.pool.counters().launches);
    applied.weight_bytes_per_token = arm.weights.bytes_per_token;
    if (arm.cache.context() > 1 && batch_of(arm.options) > 1) {
        reset(arm);
        feed(arm, std::array<std::int32_t, 2>{0, 0});
        for_each_op(arm.plan.kernels, [&](const auto& choice) {
            using Op = typename std::decay_t<decltype(choice)>::OpType;
            applied.kernels[Op::name].calls_per_pass = static_cast<double>(arm.counter<Op>().calls);
        });
    }
    arm.pool.park();
    return applied;
}

}  // namespace steady
