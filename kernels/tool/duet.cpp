// One pair, measured in one process: for each coin a few calls of both variants, in the coin's
// order, on the same inputs and on weights that are cold for both. The runner's micro gates read
// the result. On a GPU a graph of calls stands for each call.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/gpu_trial.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/stream.h"
#include "kernels/tool/team.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

// What both sides work on: one trial and one set of weights where they read the same layout, so
// that nothing but the code differs. Else the same seed gives the same numbers.
template <class Weights>
struct Stock {
    std::unique_ptr<Trial> trials[2];
    std::unique_ptr<Weights> weights[2];
    std::size_t turns[2] = {};  // the next copy
    int of[2] = {0, 0};         // which of the above is a side's

    // made(trial, variant, stocks): the weights, for one side of two, or for both.
    template <class Make>
    Stock(const OpInfo& op, const VariantBase* const (&variants)[2], const Options& options,
          Make made) {
        of[1] = variants[0]->layout == variants[1]->layout ? 0 : 1;
        for (int i = 0; i <= of[1]; ++i) {
            trials[i] = op.trial(options.shape, options.seed, variants[i]->input);
            weights[i] = made(*trials[i], *variants[i], of[1] + 1);
        }
    }
};

void require_usable(const OpInfo& op, const VariantBase& variant, const Options& options) {
    require_on_device(variant, options);
    const std::string reason = op.why_not(variant, options.shape);
    if (!reason.empty()) throw Error{reason};
    const CheckResult result = check_variant(op, variant, options.shape, options.seed);
    if (result.outcome != CheckOutcome::failed) return;
    throw Error{fmt::format("{} variant '{}' fails its check on {} and is not timed: {}", op.name,
                            variant.name, options.shape, result.message),
                kExitInternal};
}

// Both sides' nanoseconds per call, by the coins; call_ns(side) makes one call.
template <class Call>
std::array<std::vector<double>, 2> play(const Options& options, int blocks, Call call_ns) {
    std::array<std::vector<double>, 2> ns;
    for (int block = 0; block < blocks; ++block) {
        const int first = options.coins[static_cast<std::size_t>(block)] == '1' ? 1 : 0;
        for (const int side : {first, 1 - first}) {
            for (int i = 0; i < options.chunk; ++i) {
                ns[static_cast<std::size_t>(side)].push_back(call_ns(side));
            }
        }
    }
    return ns;
}

struct Played {
    std::array<std::vector<double>, 2> ns;
    std::size_t copies = 0;
};

Played play_on_cpu(const OpInfo& op, const VariantBase* const (&variants)[2],
                   const Options& options, int blocks) {
    const std::size_t calls = std::size_t{2} * static_cast<std::size_t>(blocks * options.chunk);
    Stock<ColdWeights> stock(
        op, variants, options, [&](Trial& trial, const VariantBase& variant, int stocks) {
            return std::make_unique<ColdWeights>(trial, variant, options.warm,
                                                 calls / static_cast<std::size_t>(stocks));
        });
    Team team(options.threads);
    const auto call_ns = [&](int side) {
        const int of = stock.of[side];
        stock.weights[of]->use(stock.turns[of]++);
        const auto begin = std::chrono::steady_clock::now();
        team.run(*stock.trials[of], *variants[side], options.cut);
        const auto end = std::chrono::steady_clock::now();
        return std::chrono::duration<double, std::nano>(end - begin).count();
    };
    return {play(options, blocks, call_ns), stock.weights[0]->copies()};
}

Played play_on_gpu(const OpInfo& op, const VariantBase* const (&variants)[2],
                   const Options& options, int blocks) {
    Stock<GpuTrial> stock(op, variants, options,
                          [&](Trial& trial, const VariantBase& variant, int /*stocks*/) {
                              return std::make_unique<GpuTrial>(trial, variant, options.warm);
                          });
    GpuCalls a(*stock.weights[stock.of[0]], *variants[0]);
    GpuCalls b(*stock.weights[stock.of[1]], *variants[1]);
    const auto call_ns = [&](int side) { return (side == 0 ? a : b).issue_ns(1); };
    return {play(options, blocks, call_ns), stock.weights[0]->copies()};
}

}  // namespace

int run_duet(const Options& options) {
    const OpInfo& op = *selected_ops(options).front();
    const bool on_gpu = options.device != "cpu";
    const VariantBase* const variants[2] = {&variant_named(op, options.a),
                                            &variant_named(op, options.b)};
    require_shape(op, options.shape);
    for (const VariantBase* variant : variants) require_on_device(*variant, options);
    if (on_gpu) use_gpu(options.device);
    for (const VariantBase* variant : variants) require_usable(op, *variant, options);

    const int warmup_blocks = (options.warmup + options.chunk - 1) / options.chunk;
    const int blocks = options.reps == 0
                           ? static_cast<int>(options.coins.size())
                           : warmup_blocks + (options.reps + options.chunk - 1) / options.chunk;
    const auto [ns, copies] = on_gpu ? play_on_gpu(op, variants, options, blocks)
                                     : play_on_cpu(op, variants, options, blocks);

    const Cost cost = op.cost(options.shape);
    if (options.json) {
        nlohmann::ordered_json document = {{"op", op.name},
                                           {"a", variants[0]->name},
                                           {"b", variants[1]->name},
                                           {"shape", options.shape},
                                           {"bytes", cost.weight_bytes + cost.other_bytes}};
        if (on_gpu) {
            document["gpu"] = gpu::info().name;
        } else {
            document["threads"] = options.threads;
        }
        document.update(nlohmann::ordered_json{{"chunk", options.chunk},
                                               {"warmup", warmup_blocks * options.chunk},
                                               {"cold_copies", copies},
                                               {"a_ns", ns[0]},
                                               {"b_ns", ns[1]}});
        fmt::print("{}\n", document.dump());
        return kExitOk;
    }
    const auto steady_median = [&](const std::vector<double>& of) {
        return median({of.begin() + warmup_blocks * options.chunk, of.end()});
    };
    const double ns_a = steady_median(ns[0]);
    const double ns_b = steady_median(ns[1]);
    fmt::print("{} {}: A {} {:.0f} ns, B {} {:.0f} ns per call (medians of {}); B/A {:.4f}\n",
               op.name, options.shape, variants[0]->name, ns_a, variants[1]->name, ns_b,
               ns[0].size() - static_cast<std::size_t>(warmup_blocks * options.chunk), ns_b / ns_a);
    return kExitOk;
}

}  // namespace steady::tool
