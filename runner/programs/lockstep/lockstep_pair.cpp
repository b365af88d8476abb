// A program that goes on working while it should wait slows the other arm, and could win by it. So
// the CPU time that each uses outside its own turns is counted.
#include "runner/programs/lockstep/lockstep_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "kernels/base/error.h"

namespace steady {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostReadyTimeout = 60;
// CPU of a waiting program, of the time that the other worked: below this it may be the tail of its
// own turn, and below this many seconds the kernel's ticks are too coarse.
constexpr double kMostWorkWaiting = 0.2, kLeastSeconds = 0.1;

struct Arm {
    const char* name;
    std::optional<LockstepSession> session{};
    double cpu_in_turns_s = 0, wall_in_turns_s = 0, cpu_at_start_s = 0;
    std::vector<std::vector<AdapterRow>> rows{};
};

template <class Action>
auto blaming(const Arm& arm, const Action& action) {
    try {
        return action();
    } catch (LockstepFailure& failure) {
        failure.arm = arm.name;
        throw;
    }
}

// A program that is not there, or that the system cannot start, is its arm's fault.
void begin(Arm& arm, const LockstepPlan& plan, double ready_s) {
    try {
        arm.session.emplace(*arm.name == 'A' ? plan.a() : plan.b(), ready_s);
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
        throw LockstepFailure("error", error.what());
    }
}

std::vector<AdapterRow> turn(Arm& arm, const LockstepPlan& plan) {
    const double cpu_before = arm.session->cpu_seconds();
    const auto start = Clock::now();
    auto rows = blaming(arm, [&] { return arm.session->run(plan.repetitions, plan.timeout_s); });
    arm.wall_in_turns_s += std::chrono::duration<double>(Clock::now() - start).count();
    arm.cpu_in_turns_s += arm.session->cpu_seconds() - cpu_before;
    return rows;
}

void check_waiting(const Arm& arm, const Arm& other) {
    const double outside = arm.session->cpu_seconds() - arm.cpu_at_start_s - arm.cpu_in_turns_s;
    if (outside < kLeastSeconds || outside < kMostWorkWaiting * other.wall_in_turns_s) return;
    LockstepFailure failure(
        "protocol", fmt::format("it used {:.2f} s of CPU while it should have waited {:.2f} s for "
                                "the other arm; run it as process_pairs",
                                outside, other.wall_in_turns_s));
    failure.arm = arm.name;
    throw failure;
}

}  // namespace

LockstepTurns take_turns(const LockstepPlan& plan) {
    if (plan.coins.empty()) throw Error{"a lockstep pair without turns", kExitInternal};
    Arm a{.name = "A"}, b{.name = "B"};
    const auto in_order = [&](char coin, const auto& action) {
        action(coin == '1' ? b : a);
        action(coin == '1' ? a : b);
    };
    const double ready_s = std::min(plan.timeout_s, kMostReadyTimeout);
    in_order(plan.coins[0], [&](Arm& arm) { blaming(arm, [&] { begin(arm, plan, ready_s); }); });
    for (int i = 0; i < plan.warmup_turns; ++i) {
        in_order(plan.coins[0], [&](Arm& arm) { turn(arm, plan); });
    }
    for (Arm* arm : {&a, &b}) {
        arm->cpu_in_turns_s = arm->wall_in_turns_s = 0;
        arm->cpu_at_start_s = arm->session->cpu_seconds();
    }
    for (const char coin : plan.coins) {
        in_order(coin, [&](Arm& arm) { arm.rows.push_back(turn(arm, plan)); });
    }
    check_waiting(a, b);
    check_waiting(b, a);
    for (Arm* arm : {&a, &b}) blaming(*arm, [&] { arm->session->quit(); });
    return {std::move(a.rows), std::move(b.rows)};
}

}  // namespace steady
