// The loop of a duet: blocks of two chunks, one per arm, over the same positions. While one arm
// runs, the other's threads are parked. Noise signals are read between chunks, never inside one.
#include "engine/run/duet.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/run/gpu_clocks.h"
#include "engine/run/machine.h"

namespace steady {
namespace {

using protocol::DuetRequest;

constexpr std::int64_t kSentinelBytes = 64 << 20;  // more than most caches, a few milliseconds

Scope scope_of(const std::string& name) {
    if (name == "model") return Scope::model;
    if (name == "block") return Scope::block;
    if (name == "ffn") return Scope::ffn;
    throw Error{fmt::format("duet: scope '{}'; allowed model, block, ffn", name)};
}

void check_request(const DuetRequest& request, const Arm& a) {
    const auto fail = [](const std::string& what) { throw Error{"duet: " + what}; };
    scope_of(request.scope);
    if (request.chunk < 1 || request.chunk > 64) fail("chunk must be 1 … 64 tokens");
    if (request.warmup_tokens < 0 || request.warmup_tokens % request.chunk != 0) {
        fail("warmup_tokens must be a multiple of chunk, or 0");
    }
    if (request.tokens < request.chunk || request.tokens % request.chunk != 0) {
        fail("tokens must be a positive multiple of chunk");
    }
    if (request.prompt_tokens < 1) fail("prompt_tokens must be at least 1");
    if (request.depth < 0) fail("depth must not be negative");
    const auto blocks =
        static_cast<std::size_t>((request.warmup_tokens + request.tokens) / request.chunk);
    const auto is_coin = [](char c) { return c == '0' || c == '1'; };
    if (request.coins.size() != blocks ||
        !std::all_of(request.coins.begin(), request.coins.end(), is_coin)) {
        fail(fmt::format("coins must be {} characters 0 or 1, one per block; found {}", blocks,
                         request.coins.size()));
    }
    if (duet_positions(request) > a.cache.context()) {
        fail(fmt::format("{} positions are needed, the arms were opened with context {}",
                         duet_positions(request), a.cache.context()));
    }
}

// One fixed read loop on the calling thread, in bytes per nanosecond = GB/s.
double sentinel(std::span<const std::byte> memory) {
    ThreadPool one({.threads = 1});
    return read_bytes_per_s(one, memory, 2) / 1e9;
}

// One arm's half of the duet.
struct ArmRun {
    Arm& arm;
    protocol::DuetArm out{};
    std::int64_t launches = 0;
    bool clocks_told = true;

    void prompt(std::span<const std::int32_t> tokens, std::int64_t depth) {
        arm.pool.wake();
        const std::int64_t begin = now_ns();
        feed(arm, tokens);
        out.ttft_ns = static_cast<double>(now_ns() - begin);
        repeat_prompt(arm, static_cast<std::int64_t>(tokens.size()), depth);
        arm.pool.park();
    }

    void chunk(const DuetRequest& request, std::span<const std::int32_t> tokens,
               std::int64_t first_turn, std::int64_t began_ns) {
        const Scope scope = scope_of(request.scope);
        const Disturbances before = disturbances();
        const std::int64_t launches_before = arm.pool.counters().launches;
        arm.pool.wake();
        for (std::int64_t i = 0; i < request.chunk; ++i) {
            const std::int64_t turn = first_turn + i;
            const std::int64_t at = request.prompt_tokens + turn;
            const TimedToken token = timed_token(arm, scope, tokens[static_cast<std::size_t>(at)],
                                                 at + request.depth, turn);
            out.token_ns.push_back(static_cast<double>(token.latency_ns));
            out.start_ns.push_back(token.begin_ns - began_ns);
        }
        arm.pool.park();
        launches += arm.pool.counters().launches - launches_before;
        const Disturbances after = disturbances();
        out.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
        out.major_faults += after.major_faults - before.major_faults;
    }

    // After each chunk, when nothing is timed. One reading that fails leaves the arm without any.
    void note_clocks(const GpuClocks& clocks) {
        const auto now = clocks_told ? clocks.read() : std::nullopt;
        clocks_told = now.has_value();
        if (!now) {
            out.sm_clock_mhz = out.memory_clock_mhz = {};
            out.clock_reasons = {};
            return;
        }
        out.sm_clock_mhz.push_back(now->sm_mhz);
        out.memory_clock_mhz.push_back(now->memory_mhz);
        out.clock_reasons.push_back(static_cast<std::int64_t>(now->reasons));
    }

    protocol::DuetArm finish() {
        out.launches_per_token =
            static_cast<double>(launches) / static_cast<double>(out.token_ns.size());
        out.rss_bytes = static_cast<double>(resident_bytes_of(arm));
        out.ttft_ns += out.token_ns.front();
        return out;
    }
};

// Of the GPU that an arm runs on: a process has at most one.
std::optional<GpuClocks> clocks_of(const Arm& a, const Arm& b) {
    if (!a.on_gpu() && !b.on_gpu()) return std::nullopt;
    return std::optional<GpuClocks>(std::in_place,
                                    pci_address_of_gpu(std::max(a.options.gpu, b.options.gpu)));
}

}  // namespace

std::int64_t duet_positions(const DuetRequest& request) {
    return std::int64_t{request.prompt_tokens} + request.depth + request.warmup_tokens +
           request.tokens;
}

protocol::DuetReply run_duet(const GgufFile& file, Arm& a, Arm& b, const DuetRequest& request) {
    check_request(request, a);
    const std::vector<std::int32_t> tokens = forced_tokens(
        file, request.text, duet_positions(request) - request.depth, a.config.n_vocab);
    const PageBuffer memory(kSentinelBytes);
    ArmRun runs[2] = {{a}, {b}};
    for (ArmRun& run : runs) {
        run.arm.pool.park();
        run.out.token_ns.reserve(tokens.size());
        run.out.start_ns.reserve(tokens.size());
    }
    const std::optional<GpuClocks> clocks = clocks_of(a, b);
    protocol::DuetReply reply;
    reply.sentinel_gb_per_s = sentinel(memory.bytes());
    const CpuTimes begin = cpu_times();
    const std::int64_t began_ns = now_ns();

    const std::span<const std::int32_t> prompt(tokens.data(),
                                               static_cast<std::size_t>(request.prompt_tokens));
    const auto first_of = [&](std::size_t block) { return request.coins[block] == '0' ? 0 : 1; };
    runs[first_of(0)].prompt(prompt, request.depth);
    runs[1 - first_of(0)].prompt(prompt, request.depth);
    for (std::size_t block = 0; block < request.coins.size(); ++block) {
        const std::int64_t turn = static_cast<std::int64_t>(block) * request.chunk;
        for (const int arm : {first_of(block), 1 - first_of(block)}) {
            runs[arm].chunk(request, tokens, turn, began_ns);
            if (clocks) runs[arm].note_clocks(*clocks);
        }
    }

    const CpuShares shares = cpu_shares(begin, cpu_times());
    reply.steal_share = shares.steal;
    reply.busy_others_share = shares.busy_others;
    reply.sentinel_gb_per_s = (reply.sentinel_gb_per_s + sentinel(memory.bytes())) / 2;
    reply.a = runs[0].finish();
    reply.b = runs[1].finish();
    return reply;
}

void add_position(protocol::CorrectnessReply& reply, std::span<const float> a,
                  std::span<const float> b) {
    ++reply.positions;
    const auto finite = [](float v) { return std::isfinite(v); };
    if (!std::all_of(b.begin(), b.end(), finite)) {
        reply.non_finite = true;
        return;  // counts as disagreement; distances of NaN mean nothing
    }
    const auto top = [](std::span<const float> v) {
        return std::max_element(v.begin(), v.end()) - v.begin();
    };
    if (top(a) == top(b)) reply.top1_agree += 1;
    const auto log_sum = [](std::span<const float> v) {
        const double max = *std::max_element(v.begin(), v.end());
        double sum = 0;
        for (const float x : v) sum += std::exp(static_cast<double>(x) - max);
        return max + std::log(sum);
    };
    const double za = log_sum(a), zb = log_sum(b);
    double kl = 0, difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a[i], y = b[i];
        kl += std::exp(x - za) * ((x - za) - (y - zb));
        difference += (x - y) * (x - y);
        size += x * x;
        reply.max_abs = std::max(reply.max_abs, std::abs(x - y));
    }
    reply.kl += std::max(kl, 0.0);
    reply.kl_max = std::max(reply.kl_max, std::max(kl, 0.0));
    if (size > 0) reply.rel_l2 = std::max(reply.rel_l2, std::sqrt(difference / size));
}

void finish_comparison(protocol::CorrectnessReply& reply) {
    if (reply.positions == 0) return;
    reply.top1_agree /= reply.positions;
    reply.kl /= reply.positions;
}

protocol::CorrectnessReply compare_outputs(const GgufFile& file, Arm& a, Arm& b,
                                           const protocol::CorrectnessRequest& request) {
    if (request.prompt_tokens < 1 || request.tokens < 1 || request.depth < 0) {
        throw Error{"correctness: prompt_tokens and tokens must be at least 1, depth at least 0"};
    }
    const std::int64_t n = std::int64_t{request.prompt_tokens} + request.tokens;
    if (n + request.depth > a.cache.context()) {
        throw Error{
            fmt::format("correctness: {} positions are needed, the arms were opened with "
                        "context {}",
                        n + request.depth, a.cache.context())};
    }
    const std::vector<std::int32_t> tokens = forced_tokens(file, request.text, n, a.config.n_vocab);
    const std::span<const std::int32_t> all(tokens);
    const auto first = static_cast<std::size_t>(request.prompt_tokens);
    protocol::CorrectnessReply reply;
    feed(a, all.first(first));
    repeat_prompt(a, request.prompt_tokens, request.depth);
    a.pool.park();
    feed(b, all.first(first));
    repeat_prompt(b, request.prompt_tokens, request.depth);
    for (std::size_t p = first; p < all.size(); ++p) {
        b.pool.park();
        const auto at = static_cast<std::int64_t>(p) + request.depth;
        const std::span<const float> logits_a = feed(a, all.subspan(p, 1), at);
        a.pool.park();
        add_position(reply, logits_a, feed(b, all.subspan(p, 1), at));
    }
    b.pool.park();
    finish_comparison(reply);
    return reply;
}

}  // namespace steady
