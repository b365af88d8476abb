// One pair, measured in one process: for each coin a few calls of both variants, in the coin's
// order, on the same inputs and on weights that are cold for both. The runner's micro gates read
// the result.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/stream.h"
#include "kernels/tool/team.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

// One side of the duet.
struct Side {
    const VariantBase* variant = nullptr;
    Trial* trial = nullptr;
    ColdWeights* weights = nullptr;  // shared by both sides when their layouts agree
    std::size_t* turn = nullptr;     // the next copy
    std::vector<double> ns;
};

void require_usable(const OpInfo& op, const VariantBase& variant, const Options& options) {
    refuse_gpu(variant);
    const std::string reason = op.why_not(variant, options.shape);
    if (!reason.empty()) throw Error{reason};
    const CheckResult result = check_variant(op, variant, options.shape, options.seed);
    if (result.outcome != CheckOutcome::failed) return;
    throw Error{fmt::format("{} variant '{}' fails its check on {} and is not timed: {}", op.name,
                            variant.name, options.shape, result.message),
                kExitInternal};
}

void play(Team& team, Side& side, int calls, CutRule cut) {
    for (int i = 0; i < calls; ++i) {
        side.weights->use((*side.turn)++);
        const auto begin = std::chrono::steady_clock::now();
        team.run(*side.trial, *side.variant, cut);
        const auto end = std::chrono::steady_clock::now();
        side.ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
    }
}

}  // namespace

int run_duet(const Options& options) {
    const OpInfo& op = *selected_ops(options).front();
    const VariantBase& a = variant_named(op, options.a);
    const VariantBase& b = variant_named(op, options.b);
    require_shape(op, options.shape);
    require_usable(op, a, options);
    require_usable(op, b, options);

    Team team(options.threads);
    // Both sides work on one trial when they read the same input form and layout, so that nothing
    // but the code differs. Otherwise the same seed gives the same numbers.
    const auto trial_a = op.trial(options.shape, options.seed, a.input);
    const auto trial_b = op.trial(options.shape, options.seed, b.input);
    const bool shared = a.layout == b.layout;
    ColdWeights weights_a(*trial_a, a, options.warm);
    std::optional<ColdWeights> weights_b;
    if (!shared) weights_b.emplace(*trial_b, b, options.warm);
    std::size_t turn_a = 0;
    std::size_t turn_b = 0;
    Side side_a{&a, trial_a.get(), &weights_a, &turn_a, {}};
    Side side_b = shared ? Side{&b, trial_a.get(), &weights_a, &turn_a, {}}
                         : Side{&b, trial_b.get(), &*weights_b, &turn_b, {}};

    const int warmup_blocks = (options.warmup + options.chunk - 1) / options.chunk;
    const int blocks = options.reps == 0
                           ? static_cast<int>(options.coins.size())
                           : warmup_blocks + (options.reps + options.chunk - 1) / options.chunk;
    for (int block = 0; block < blocks; ++block) {
        const bool b_first = options.coins[static_cast<std::size_t>(block)] == '1';
        play(team, b_first ? side_b : side_a, options.chunk, options.cut);
        play(team, b_first ? side_a : side_b, options.chunk, options.cut);
    }

    const Cost cost = op.cost(options.shape);
    if (options.json) {
        const nlohmann::ordered_json document = {{"op", op.name},
                                                 {"a", a.name},
                                                 {"b", b.name},
                                                 {"shape", options.shape},
                                                 {"bytes", cost.weight_bytes + cost.other_bytes},
                                                 {"threads", options.threads},
                                                 {"chunk", options.chunk},
                                                 {"warmup", warmup_blocks * options.chunk},
                                                 {"cold_copies", weights_a.copies()},
                                                 {"a_ns", side_a.ns},
                                                 {"b_ns", side_b.ns}};
        fmt::print("{}\n", document.dump());
        return kExitOk;
    }
    const auto steady_median = [&](const Side& side) {
        return median({side.ns.begin() + warmup_blocks * options.chunk, side.ns.end()});
    };
    const double ns_a = steady_median(side_a);
    const double ns_b = steady_median(side_b);
    fmt::print("{} {}: A {} {:.0f} ns, B {} {:.0f} ns per call (medians of {}); B/A {:.4f}\n",
               op.name, options.shape, a.name, ns_a, b.name, ns_b,
               side_a.ns.size() - static_cast<std::size_t>(warmup_blocks * options.chunk),
               ns_b / ns_a);
    return kExitOk;
}

}  // namespace steady::tool
