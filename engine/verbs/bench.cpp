// Verbs bench model and bench block: decode speed at steady state, beside what this machine's
// memory gave before, between and after, in the same run with the same threads. Tokens are forced,
// so that every run does the same work; warm-up is dropped before the first number is kept.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/machine.h"
#include "engine/run/model.h"
#include "engine/verbs/measure.h"
#include "engine/verbs/verbs.h"
#include "kernels/registry/cpu.h"
#include "kernels/runtime/read_limit.h"

namespace steady {

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

Measured measure(Arm& arm, Scope scope, std::int64_t depth, std::int64_t n,
                 std::span<const std::int32_t> tokens) {
    Measured measured;
    measured.token_ns.reserve(static_cast<std::size_t>(n));
    if (depth > 0) {
        const std::int64_t fed = std::min(depth, kFedOfDepth);
        feed(arm, tokens.first(static_cast<std::size_t>(fed)));
        repeat_prompt(arm, fed, depth - fed);
    }
    arm.pool.time_barriers(true);
    LaunchCounters before;
    for (std::int64_t turn = 0; turn < kWarmUpTokens + n; ++turn) {
        if (turn == kWarmUpTokens) before = arm.pool.counters();
        const std::int64_t position = depth + turn;
        const TimedToken token =
            timed_token(arm, scope, tokens[static_cast<std::size_t>(position)], position, turn);
        if (turn >= kWarmUpTokens) {
            measured.token_ns.push_back(static_cast<double>(token.latency_ns));
        }
    }
    arm.pool.time_barriers(false);
    const LaunchCounters& after = arm.pool.counters();
    const auto per_token = [&](std::int64_t count) {
        return static_cast<double>(count) / static_cast<double>(n);
    };
    measured.launches_per_token = per_token(after.launches - before.launches);
    measured.barrier_ns_per_token = per_token(after.barrier_ns - before.barrier_ns);
    measured.peak_rss_bytes = peak_resident_bytes();
    return measured;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kReadBytes = std::int64_t{1} << 29;  // of weights, or of a buffer as large
constexpr int kReadPasses = 2;

// The read limit, asked before, between and after what is measured: neighbours come and go. The
// pages that hold the weights are read, or a buffer in huge pages when they are few.
class ReadProbes {
public:
    ReadProbes(Model& model, Arm& arm) : arm_(arm) {
        memory_ = model.store.largest();
        if (arm.on_gpu() || memory_.size() >= static_cast<std::size_t>(kReadBytes)) return;
        buffer_ = std::make_unique<PageBuffer>(kReadBytes);
        memory_ = buffer_->bytes();
    }
    void probe(std::string_view when) {
        const std::size_t n = std::min(memory_.size(), static_cast<std::size_t>(kReadBytes));
        const ReadLimit found = arm_.on_gpu()
                                    ? ReadLimit{gpu::read_limit_gb_per_s(), "gpu"}
                                    : read_limit(arm_.pool, memory_.first(n), kReadPasses);
        if (found.gb_per_s > best_.gb_per_s) best_ = found;
        all_.push_back({{"when", when}, {"gb_per_s", found.gb_per_s}, {"loop", found.loop}});
    }
    const ReadLimit& best() const { return best_; }
    const Json& all() const { return all_; }

private:
    Arm& arm_;
    std::span<const std::byte> memory_;
    std::unique_ptr<PageBuffer> buffer_;
    ReadLimit best_;
    Json all_ = Json::array();
};

// Seconds for a prompt at positions 0 …, after a batch of it as warm-up.
double time_prompt(Arm& arm, std::span<const std::int32_t> tokens) {
    if (tokens.empty()) return 0;
    feed(arm, tokens.first(std::min(tokens.size(), static_cast<std::size_t>(arm.batch))));
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
            std::int64_t depth, const ReadProbes& probes) {
    const double ns = median(measured.token_ns);
    std::vector<double> sorted = measured.token_ns;
    std::sort(sorted.begin(), sorted.end());
    const auto rank = static_cast<std::size_t>(0.9 * static_cast<double>(sorted.size() - 1));
    return {{"architecture", model.config.architecture},
            {"model_name", model.config.name},
            {"n_blocks", model.config.n_blocks},
            {"cpu", cpu::model_name()},
            {"cpu_class", cpu::class_name()},
            {"threads", arm.pool.options().threads},
            {"depth", depth},
            {"tokens_per_s", 1e9 / ns},
            {"token_ns", measured.token_ns},
            {"token_ns_median", ns},
            {"token_ns_p90", sorted[rank]},
            {"weight_bytes_per_token", static_cast<std::int64_t>(weight_bytes)},
            {"weight_gb_per_s", weight_bytes / ns},
            {"read_gb_per_s", probes.best().gb_per_s},
            {"read_loop", probes.best().loop},
            {"read_probes", probes.all()},
            {"launches_per_token", measured.launches_per_token},
            {"barrier_ns_per_token", measured.barrier_ns_per_token},
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
    fmt::print(
        "  weights {:.3f} GB per token at {:.2f} GB/s, {:.0f} % of the read limit, {:.2f} GB/s\n",
        r["weight_bytes_per_token"].get<double>() / 1e9, gb, 100 * gb / read, read);
    fmt::print("  read limit");
    for (const Json& probe : r["read_probes"]) {
        fmt::print(" · {} {:.2f} GB/s by loop {}", probe["when"].get<std::string>(),
                   probe["gb_per_s"].get<double>(), probe["loop"].get<std::string>());
    }
    fmt::print("\n");
    for (const Json& depth : r.value("depths", Json::array())) {
        fmt::print("  depth {}: {:.2f} tok/s\n", depth["depth"].get<std::int64_t>(),
                   depth["tokens_per_s"].get<double>());
    }
    for (const Json& prompt : r.value("prompts", Json::array())) {
        fmt::print("  prompt of {}: {:.2f} tok/s\n", prompt["tokens"].get<std::int64_t>(),
                   prompt["tokens_per_s"].get<double>());
    }
    fmt::print("  {:.0f} launches per token, {:.3f} ms waiting at barriers · peak memory {}\n",
               r["launches_per_token"].get<double>(), r["barrier_ns_per_token"].get<double>() / 1e6,
               human_bytes(r["peak_rss_bytes"].get<std::int64_t>()));
}

}  // namespace

int run_bench_model(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 20, 32);
    std::vector<std::int64_t> depths = arguments.numbers("--depth", 0, 1 << 22);
    if (depths.empty()) depths.push_back(0);
    std::vector<std::int64_t> prompts = arguments.numbers("--prompt", 0, 1 << 22);
    std::erase(prompts, 0);
    Model model(arguments.positionals[0]);
    std::int64_t positions = *std::max_element(depths.begin(), depths.end()) + kWarmUpTokens + n;
    for (const std::int64_t prompt : prompts) positions = std::max(positions, prompt);
    auto arms = model.make_arms({arguments.arm()}, positions);
    Arm& arm = *arms[0];
    const auto tokens = scattered_tokens(positions, model.config.n_vocab);
    ReadProbes probes(model, arm);
    probes.probe("before");
    Json prompted = Json::array();
    for (const std::int64_t prompt : prompts) {
        const double s =
            time_prompt(arm, std::span(tokens).first(static_cast<std::size_t>(prompt)));
        prompted.push_back({{"tokens", prompt}, {"tokens_per_s", static_cast<double>(prompt) / s}});
    }
    if (!prompts.empty()) probes.probe("between");
    std::vector<Measured> measured;
    for (const std::int64_t depth : depths) {
        measured.push_back(measure(arm, Scope::model, depth, n, tokens));
        probes.probe(depth == depths.back() ? "after" : "between");
    }
    const auto bytes = static_cast<double>(arm.weights.bytes_per_token);
    Json result = report(model, arm, measured[0], bytes, depths[0], probes);
    for (std::size_t i = 1; i < depths.size(); ++i) {
        result["depths"].push_back({{"depth", depths[i]},
                                    {"tokens_per_s", 1e9 / median(measured[i].token_ns)},
                                    {"token_ns", measured[i].token_ns}});
    }
    if (!prompts.empty()) {
        result["prompts"] = prompted;
        result["prompt_tokens"] = prompts[0];
        result["prompt_tokens_per_s"] = prompted[0]["tokens_per_s"];
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
    ReadProbes probes(model, arm);
    probes.probe("before");
    Json result = Json::object();
    for (const auto& [name, scope] : {std::pair{"block", Scope::block}, {"ffn", Scope::ffn}}) {
        const Measured measured = measure(arm, scope, depth, n, tokens);
        probes.probe("after");
        result[name] =
            report(model, arm, measured, scope_bytes(arm, scope, tokens, depth), depth, probes);
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
