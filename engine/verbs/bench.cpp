// Verbs bench model and bench block: decode speed at steady state, beside what this machine's
// memory gave in the same run with the same threads. Tokens are forced, so that every run does the
// same work; warm-up is dropped before the first number is kept.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/machine.h"
#include "engine/run/model.h"
#include "engine/verbs/verbs.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kWarmUpTokens = 4;
constexpr std::int64_t kReadBytes = std::int64_t{1} << 30;  // of weights, or of a buffer as large
constexpr int kReadPasses = 3;

// Token ids that visit the vocabulary in a fixed, scattered order.
std::vector<std::int32_t> scattered_tokens(std::int64_t n, std::int64_t n_vocab) {
    std::vector<std::int32_t> tokens;
    std::uint64_t x = 12345;
    for (std::int64_t i = 0; i < n; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        tokens.push_back(
            static_cast<std::int32_t>((x >> 33) % static_cast<std::uint64_t>(n_vocab)));
    }
    return tokens;
}

// Read speed of the pages that hold the weights; of a buffer in huge pages when they are few.
double read_gb_per_s(Model& model, Arm& arm) {
    if (arm.on_gpu()) return gpu_read_gb_per_s();
    const std::span<const std::byte> weights = model.store.largest();
    if (weights.size() >= static_cast<std::size_t>(kReadBytes)) {
        const std::size_t n = std::min(weights.size(), static_cast<std::size_t>(2 * kReadBytes));
        return read_bytes_per_s(arm.pool, weights.first(n), kReadPasses) / 1e9;
    }
    const PageBuffer buffer(kReadBytes / 2);
    return read_bytes_per_s(arm.pool, buffer.bytes(), kReadPasses) / 1e9;
}

struct Measured {
    std::vector<double> token_ns;
    double launches_per_token = 0;
    std::int64_t peak_rss_bytes = 0;
};

Measured measure(Arm& arm, Scope scope, std::int64_t depth, std::int64_t n,
                 std::span<const std::int32_t> tokens) {
    Measured measured;
    measured.token_ns.reserve(static_cast<std::size_t>(n));
    if (depth > 0) {
        const std::int64_t fed = std::min(depth, kFedOfDepth);
        feed(arm, tokens.first(static_cast<std::size_t>(fed)));
        repeat_prompt(arm, fed, depth - fed);
    }
    std::int64_t launches = 0;
    for (std::int64_t turn = 0; turn < kWarmUpTokens + n; ++turn) {
        if (turn == kWarmUpTokens) launches = arm.pool.counters().launches;
        const std::int64_t position = depth + turn;
        const TimedToken token =
            timed_token(arm, scope, tokens[static_cast<std::size_t>(position)], position, turn);
        if (turn >= kWarmUpTokens) {
            measured.token_ns.push_back(static_cast<double>(token.latency_ns));
        }
    }
    measured.launches_per_token =
        static_cast<double>(arm.pool.counters().launches - launches) / static_cast<double>(n);
    measured.peak_rss_bytes = peak_resident_bytes();
    return measured;
}

// Seconds for a prompt at positions 0 …, after the same prompt as warm-up.
double time_prompt(Arm& arm, std::span<const std::int32_t> tokens) {
    if (tokens.empty()) return 0;
    feed(arm, tokens);
    const std::int64_t begin = now_ns();
    feed(arm, tokens);
    return static_cast<double>(now_ns() - begin) / 1e9;
}

// Weight bytes of the blocks that scope block or ffn cycles through, one block's mean.
double scope_bytes(Arm& arm, Scope scope, std::span<const std::int32_t> tokens,
                   std::int64_t position) {
    if (scope == Scope::model) return static_cast<double>(arm.weights.bytes_per_token);
    for_each_op(arm.counters, [](auto& counted) { counted.counter = {}; });
    arm.timed = true;
    timed_token(arm, scope, tokens[0], position, 0);
    arm.timed = false;
    std::int64_t bytes = 0;
    for_each_op(arm.counters, [&](const auto& counted) {
        using Op = typename std::decay_t<decltype(counted)>::OpType;
        if constexpr (!kReadsCache<Op>) bytes += counted.counter.bytes;
    });
    return static_cast<double>(bytes);
}

Json report(Model& model, Arm& arm, const Measured& measured, double weight_bytes,
            std::int64_t depth) {
    const double ns = median(measured.token_ns);
    std::vector<double> sorted = measured.token_ns;
    std::sort(sorted.begin(), sorted.end());
    const auto rank = static_cast<std::size_t>(0.9 * static_cast<double>(sorted.size() - 1));
    return {{"architecture", model.config.architecture},
            {"model_name", model.config.name},
            {"n_blocks", model.config.n_blocks},
            {"threads", arm.pool.options().threads},
            {"depth", depth},
            {"tokens_per_s", 1e9 / ns},
            {"token_ns", measured.token_ns},
            {"token_ns_median", ns},
            {"token_ns_p90", sorted[rank]},
            {"weight_bytes_per_token", static_cast<std::int64_t>(weight_bytes)},
            {"weight_gb_per_s", weight_bytes / ns},
            {"read_gb_per_s", read_gb_per_s(model, arm)},
            {"launches_per_token", measured.launches_per_token},
            {"peak_rss_bytes", measured.peak_rss_bytes}};
}

void print_report(const Json& r, const std::string& what) {
    fmt::print("{} {} · {} blocks · {} threads · depth {}\n", what,
               r["model_name"].get<std::string>(), r["n_blocks"].get<int>(),
               r["threads"].get<int>(), r["depth"].get<std::int64_t>());
    fmt::print("  {:.2f} tok/s   median {:.3f} ms, p90 {:.3f} ms, {} tokens\n",
               r["tokens_per_s"].get<double>(), r["token_ns_median"].get<double>() / 1e6,
               r["token_ns_p90"].get<double>() / 1e6, r["token_ns"].size());
    const double gb = r["weight_gb_per_s"], read = r["read_gb_per_s"];
    fmt::print("  weights {:.3f} GB per token at {:.2f} GB/s, {:.0f} % of {:.2f} GB/s read speed\n",
               r["weight_bytes_per_token"].get<double>() / 1e9, gb, 100 * gb / read, read);
    if (r.contains("prompt_tokens")) {
        fmt::print("  prompt of {}: {:.2f} tok/s\n", r["prompt_tokens"].get<std::int64_t>(),
                   r["prompt_tokens_per_s"].get<double>());
    }
    fmt::print("  {:.0f} launches per token · peak memory {}\n",
               r["launches_per_token"].get<double>(),
               human_bytes(r["peak_rss_bytes"].get<std::int64_t>()));
}

}  // namespace

int run_bench_model(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 20, 32);
    const std::int64_t depth = arguments.number("--depth", 0, 1 << 22, 0);
    Model model(arguments.positionals[0]);
    const std::int64_t n_prompt = arguments.number("--prompt", 0, 1 << 22, 0);
    const std::int64_t positions = std::max(depth + kWarmUpTokens + n, n_prompt);
    auto arms = model.make_arms({arguments.arm()}, positions);
    const auto tokens = scattered_tokens(positions, model.config.n_vocab);
    const double prompt_s =
        time_prompt(*arms[0], std::span(tokens).first(static_cast<std::size_t>(n_prompt)));
    const Measured measured = measure(*arms[0], Scope::model, depth, n, tokens);
    Json result = report(model, *arms[0], measured,
                         static_cast<double>(arms[0]->weights.bytes_per_token), depth);
    if (n_prompt > 0) {
        result["prompt_tokens"] = n_prompt;
        result["prompt_tokens_per_s"] = static_cast<double>(n_prompt) / prompt_s;
    }
    arguments.json() ? fmt::print("{}\n", result.dump()) : print_report(result, "model");
    return kExitOk;
}

int run_bench_block(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 20, 64);
    const std::int64_t depth = arguments.number("--depth", 0, 1 << 22, 0);
    Model model(arguments.positionals[0]);
    const std::int64_t positions = depth + kWarmUpTokens + n;
    auto arms = model.make_arms({arguments.arm()}, positions);
    Arm& arm = *arms[0];
    const auto tokens = scattered_tokens(positions, model.config.n_vocab);
    Json result = Json::object();
    for (const auto& [name, scope] : {std::pair{"block", Scope::block}, {"ffn", Scope::ffn}}) {
        const Measured measured = measure(arm, scope, depth, n, tokens);
        result[name] = report(model, arm, measured, scope_bytes(arm, scope, tokens, depth), depth);
        result[name].erase("tokens_per_s");
        result[name]["runs_per_s"] = 1e9 / result[name]["token_ns_median"].get<double>();
    }
    if (arguments.json()) {
        fmt::print("{}\n", result.dump());
        return kExitOk;
    }
    for (const auto& [name, each] : result.items()) {
        fmt::print(
            "{:<6} median {:.1f} µs, p90 {:.1f} µs, {:.2f} GB/s of weights, {:.0f} launches\n",
            name, each["token_ns_median"].get<double>() / 1e3,
            each["token_ns_p90"].get<double>() / 1e3, each["weight_gb_per_s"].get<double>(),
            each["launches_per_token"].get<double>());
    }
    return kExitOk;
}

}  // namespace steady
