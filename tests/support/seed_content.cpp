// Scenery for the page: made-up questions with plausible numbers. No verdict here is a claim.
#include "tests/support/seed_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "runner/judge/op_times.h"

namespace steady::seed {
namespace {

struct Idea {
    const char *slug, *op, *a, *b, *claim, *because;
    double truth;
};

constexpr std::array<Idea, 8> kIdeas{{
    {"experts-fused-vnni", "q4_0_experts", "avx512_vnni", "avx512_vnni_fused",
     "Fusing gate, up and down of the routed experts raises decode speed",
     "the activations of one expert stay in L1 instead of making three passes", 0.034},
    {"matvec-two-rows", "q4_0_matvec", "avx512_vnni", "avx512_vnni_2row",
     "Two rows per pass raise decode speed", "each block of x is loaded once and used twice",
     0.012},
    {"q6k-vnni", "q6_k_matvec", "avx2", "avx512_vnni",
     "VNNI for the output projection raises decode speed",
     "the output projection reads a ninth of all weight bytes", 0.051},
    {"router-pairwise-topk", "moe_router", "reference", "avx2_pairwise",
     "Pairwise top-k in the router raises decode speed",
     "the sort takes longer than the comparison of 64 candidates", 0.0004},
    {"rms-one-pass", "rms_norm", "avx2", "avx512_one_pass", "One-pass RMSNorm raises decode speed",
     "the row is read once instead of twice", -0.0012},
    {"mla-online-softmax", "mla_attention", "avx512", "avx512_online",
     "Online softmax in latent attention raises decode speed at short context",
     "scores need no second pass over the cache", -0.021},
    {"q5k-hoisted-scale", "q5_k_matvec", "avx2", "avx2_hoisted",
     "Hoisting the sub-block scale raises decode speed",
     "eight multiplications per block become one", 0.0071},
    {"swiglu-polynomial", "swiglu", "avx2", "avx2_poly",
     "A polynomial exponential in SwiGLU raises decode speed",
     "the exponential is a tenth of the feed-forward's arithmetic", 0.0002},
}};
constexpr std::array<const char*, 5> kOwners{"kim", "ada", "noor", "jo", "liu"};
constexpr std::array<const char*, 3> kModels{"glm-4.7-flash-q4_0.gguf",
                                             "deepseek-v2-lite-q4_0.gguf", "youtu-llm-2b.gguf"};

struct Share {
    const char *op, *variant;
    double ns, bytes, calls;
};
constexpr std::array<Share, 9> kShares{{{"q4_0_experts", "avx512_vnni", 41.2e6, 1.10e9, 46},
                                        {"q4_0_matvec", "avx512_vnni", 17.9e6, 0.50e9, 282},
                                        {"q6_k_matvec", "avx2", 11.4e6, 0.26e9, 1},
                                        {"q5_k_matvec", "avx2", 7.7e6, 0.21e9, 138},
                                        {"mla_attention", "avx512", 2.9e6, 0.03e9, 47},
                                        {"f32_matvec", "avx2", 1.1e6, 0.02e9, 46},
                                        {"moe_router", "reference", 0.21e6, 0, 46},
                                        {"rms_norm", "avx2", 0.18e6, 0, 141},
                                        // Faster than memory, as if from a cache.
                                        {"rope", "avx2", 0.05e6, 0.004e9, 94}}};

double share_of(const std::string& op) {
    double total = 0, own = 0;
    for (const Share& share : kShares) {
        total += share.ns;
        if (op == share.op) own = share.ns;
    }
    return own / total;
}

std::string changed_op(const Spec& spec) {
    const auto arm = spec.arms.find("B");
    return arm == spec.arms.end() || arm->second.kernels.empty()
               ? ""
               : arm->second.kernels.begin()->first;
}

Interval around(double middle, double half) {
    return {std::expm1(middle - half), std::expm1(middle + half)};
}

GateResult gate_of(const Gate& gate, const std::string& outcome, double effect, double half,
                   int pairs, std::string detail) {
    GateResult out;
    out.id = gate.id;
    out.metric = gate.metric;
    out.level = gate.level;
    out.role = gate.role;
    out.outcome = outcome;
    out.detail = std::move(detail);
    out.pairs = pairs;
    if (gate.level != Level::correctness && outcome != "skipped") {
        out.effect = std::expm1(effect);
        out.interval = around(effect, half);
    }
    return out;
}

void add_gates(Analysis& analysis, const Spec& spec, double middle, double half,
               const std::string& deciding, std::mt19937_64& random) {
    std::normal_distribution<double> noise(0, 1);
    for (const Gate& gate : spec.gates) {
        if (gate.level == Level::correctness) {
            analysis.gates.push_back(gate_of(
                gate, "pass", 0, 0, 0, "top1_agree 1 (needs >=0.999), kl 2.1e-07 (needs <=1e-4)"));
        } else if (gate.level == Level::micro) {
            const double alone = middle < 0 ? 0.35 : middle / std::max(0.05, share_of(gate.op));
            analysis.gates.push_back(gate_of(gate, "advice", alone, 0.01, 12,
                                             "12 pairs of this op alone, cold weights"));
        } else if (gate.role == Role::decides) {
            analysis.gates.push_back(gate_of(gate, deciding, middle, half, analysis.pairs,
                                             fmt::format("worth {:.1f} %", 100 * gate.worth)));
        } else {
            analysis.gates.push_back(gate_of(gate, "pass", middle * 0.8 + 0.001 * noise(random),
                                             half * 1.6, analysis.pairs,
                                             fmt::format("margin {:.0f} %", 100 * gate.margin)));
        }
    }
}

void add_checks(Analysis& analysis, const Spec& spec) {
    analysis.checks = {
        {"coin_audit", "ok", "every order follows from the stored seed"},
        {"order_effect", "ok", "A first and B first agree within 0.1 %"},
        {"carry_over", "ok", "blocks after a switch are like the others"},
        {"drift", analysis.pairs % 7 == 0 ? "flag" : "ok",
         analysis.pairs % 7 == 0 ? "pair values fall by 0.02 % per pair" : "none seen"},
        {"bimodality", "ok", "one mode"},
        {"outliers", "ok", "largest deviation 2.9 robust sigma"},
        {"aa_band", "ok", "the interval lies outside what A against A showed"}};
    if (spec.schedule.aa_pairs == 0) analysis.checks.back().status = "not_measured";
}

// A question is asked a few times, not by everybody for ever: its workload is replaced in between.
std::string workload(const char* name, int n) {
    constexpr int kAsked = 200;
    return n < kAsked ? name : fmt::format("{}-{}", name, n / kAsked);
}

// A run of the self-test: A against A, or a planted slow-down. The seed tells runs apart.
Question selftest(int n) {
    const bool planted = n % 18 == 8;
    Question out;
    out.id = planted ? "burn-2" : "a-against-a";
    out.truth = planted ? -0.0198 : 0;
    out.spec_text = fmt::format(
        R"({{"id":"{}","owner":"steady","hypothesis":{{"claim":"{}","because":"the truth is known here","predict":{{"metric":"decode_tps","change":["-2.5%","+0.5%"]}}}},)"
        R"("subject":{{"program":"steady-engine","model":"synth-tiny-glm-4.7-flash-s1.gguf","workload":"{}","threads":2}},)"
        R"("arms":{{"A":{{}},"B":{}}},"expect_diff":[{}],)"
        R"("gates":[{{"id":"tokens","level":"correctness","role":"guard","need":{{"top1_agree":">=1"}}}},)"
        R"({{"id":"decode","level":"model","role":"decides","metric":"decode_tps","worth":"1%"}}],)"
        R"("schedule":{{"seed":{}}}}})",
        out.id,
        planted ? "Burning 2 percent of each token makes decode slower"
                : "The same engine against itself is faster",
        workload("prose", n), planted ? R"({"engine_flags":{"burn":"2%"}})" : "{}",
        planted ? R"("engine_flags.burn")" : "", n);
    return out;
}

protocol::ProfileReply profile_of_process(const Spec& spec, double truth, std::mt19937_64& random) {
    std::lognormal_distribution<double> noise(0, 0.01);
    protocol::ProfileReply reply;
    reply.read_gb_per_s = 38.4;
    const std::string op = changed_op(spec);
    for (const char* arm : {"A", "B"}) {
        const bool candidate = arm[0] == 'B';
        for (const Share& share : kShares) {
            protocol::ProfileRow row{share.op, share.variant, share.calls, share.ns, share.bytes};
            if (op == share.op) {
                row.variant = spec.arms.at(arm).kernels.at(op);
                if (candidate) row.ns_per_token *= std::exp(-truth / std::max(0.03, share_of(op)));
            } else {
                row.ns_per_token *= candidate ? 1.003 : 1.0;
            }
            row.ns_per_token *= noise(random);
            reply.arms[arm].push_back(row);
        }
        reply.launches_per_token[arm] = candidate && op == "q4_0_experts" ? 517 : 609;
        reply.barrier_ns_per_token[arm] = candidate ? 0.71e6 : 0.83e6;
    }
    return reply;
}

}  // namespace

Question question(int n, std::mt19937_64& random) {
    if (n % 9 == 8) return selftest(n);
    const Idea& idea = kIdeas[static_cast<std::size_t>(n) % kIdeas.size()];
    std::normal_distribution<double> noise(0, 0.004);
    Question out;
    out.id = n < static_cast<int>(kIdeas.size()) ? idea.slug
                                                 : fmt::format("{}-v{}", idea.slug, n / 8 + 1);
    out.truth = idea.truth + (n < 8 ? 0 : noise(random));
    const std::string block =
        idea.op[0] == 'q'
            ? R"({"id":"block","level":"block","role":"guard","metric":"block_ns","margin":"2%"},)"
            : "";
    out.spec_text = fmt::format(
        R"({{"id":"{}","owner":"{}","hypothesis":{{"claim":"{}","because":"{}","predict":{{"metric":"decode_tps","change":["+1%","+5%"]}}}},)"
        R"("subject":{{"program":"steady-engine","model":"{}","workload":"{}","threads":2}},)"
        R"("arms":{{"A":{{"kernels":{{"{}":"{}"}}}},"B":{{"kernels":{{"{}":"{}"}}}}}},"expect_diff":["kernels.{}"],)"
        R"("gates":[{{"id":"tokens","level":"correctness","role":"guard","need":{{"top1_agree":">=0.999","kl":"<=1e-4"}}}},)"
        R"({{"id":"alone","level":"micro","role":"advice","metric":"op_ns","op":"{}"}},{})"
        R"({{"id":"decode","level":"model","role":"decides","metric":"decode_tps","worth":"1%"}},)"
        R"({{"id":"tail","level":"model","role":"guard","metric":"token_ns_p90","margin":"2%"}},)"
        R"({{"id":"memory","level":"model","role":"guard","metric":"rss_bytes","margin":"2%"}}],)"
        R"("retry_if":"the expert width or the cache size changes"}})",
        out.id, kOwners[static_cast<std::size_t>(n * 7 / 3) % kOwners.size()], idea.claim,
        idea.because, kModels[static_cast<std::size_t>(n / 5) % kModels.size()],
        workload("prose-512", n), idea.op, idea.a, idea.op, idea.b, idea.op, idea.op, block);
    return out;
}

Analysis outcome(const Spec& spec, double truth, int n_pairs, std::mt19937_64& random) {
    constexpr double kSigma = 0.0048;
    std::normal_distribution<double> noise(0, kSigma);
    Analysis out;
    out.metric = "decode_tps";
    out.pairs = n_pairs;
    out.discarded = n_pairs % 5 == 0 ? 1 : 0;
    out.sigma_d = kSigma;
    out.sigma0 = 0.0051;
    out.aa_band = {-0.0021, 0.0024};
    double sum = 0;
    for (int i = 0; i < n_pairs; ++i) {
        out.d.push_back(truth + noise(random));
        sum += out.d.back();
        const double k = i + 1.0;
        out.narrowing.push_back(around(sum / k, 3.1 * kSigma / std::sqrt(k)));
        out.log_e_over_pairs.push_back((sum / k - 0.0) * std::fabs(sum / k) * k /
                                       (2 * kSigma * kSigma) / 3);
    }
    const double middle = sum / n_pairs, half = 3.1 * kSigma / std::sqrt(n_pairs);
    out.effect = std::expm1(middle);
    out.interval = around(middle, half);
    std::string gate = "open";
    if (middle - half > 0.0 && middle > 0.01) {
        out.verdict = Verdict::accept;
        out.why = "early_e";
        gate = "pass";
    } else if (middle + half < 0.01) {
        out.verdict = Verdict::reject;
        out.reason = middle + half < 0 ? "regression" : "no_worthwhile_gain";
        out.why = "early_e";
        gate = "fail";
    } else {
        out.why = "cap";
    }
    out.prediction = out.verdict == Verdict::inconclusive ? "no_answer"
                     : *out.effect > 0.05                 ? "above"
                     : *out.effect < 0.01                 ? "below"
                                                          : "inside";
    out.sentence =
        fmt::format("B is {:.1f} % {} than A in decode_tps, after {} pairs.",
                    std::fabs(100 * *out.effect), *out.effect < 0 ? "slower" : "faster", n_pairs);
    std::vector<double> slowness;  // A's time is always the same
    for (const double d : out.d) slowness.push_back(-d / 2);
    out.dependence.emplace().machine_state =
        machine_state(out.d, slowness, matters(*deciding_gate(spec)));
    add_gates(out, spec, middle, half, gate, random);
    if (middle + half < 0) {
        out.contradiction = fmt::format("micro +41.9 %, model −{:.1f} %", -100 * *out.effect);
    }
    add_checks(out, spec);
    return out;
}

protocol::ProfileReply profile(const Spec& spec, double truth) {
    std::mt19937_64 random(1);
    std::vector<protocol::ProfileReply> processes;
    for (int i = 0; i < 8; ++i) processes.push_back(profile_of_process(spec, truth, random));
    return joined_profiles(processes);
}

StackProfile stacks(double truth) {
    StackProfile out{.unwinding = "frame_pointers", .hz = 499};
    for (const char* arm : {"A", "B"}) {
        const double kept = arm[0] == 'B' ? 1 - truth : 1;
        Stacks found = {{"engine;main;load", 160},
                        {"engine;main;load;read [kernel]", 90},
                        {"engine;main;decode;attention;<img src=x onerror=steady_pwned=1>", 210},
                        {"engine;main;decode;attention;softmax", 240},
                        {"engine;main;decode;router", 75},
                        {"engine;worker;decode;experts", 1900}};
        found["engine;worker;decode;experts;dequantise"] = std::lround(9000 * (kept * 2 - 1));
        out.arms[arm] = folded(found, 3);
    }
    return out;
}

protocol::OpenReply applied(const Spec& spec) {
    protocol::OpenReply reply;
    reply.engine_build = "9f2c1ab";
    reply.architecture = "deepseek2";
    reply.model_name = spec.subject.model;
    reply.n_blocks = 47;
    for (const char* arm : {"A", "B"}) {
        protocol::AppliedArm& one = reply.arms[arm];
        for (const Share& share : kShares) {
            one.kernels[share.op] = {share.variant, "champion", share.calls};
        }
        for (const auto& [op, variant] : spec.arms.at(arm).kernels) {
            one.kernels[op] = {variant, arm[0] == 'A' ? "champion" : "flag", 46};
        }
        one.steps = {{"moe", "fused"}, {"mla", "absorbed"}};
        one.threads = 2;
        one.launches_per_token = arm[0] == 'A' ? 609 : 517;
        one.weight_bytes_per_token = 2189000000;
    }
    return reply;
}

Fingerprint fingerprint(int host) {
    return {{"cpu_model", host == 0 ? "Intel Xeon Platinum 8481C" : "AMD EPYC 9B14"},
            {"cpus", host == 0 ? "2" : "16"},
            {"kernel", "6.1.0-37-amd64"},
            {"memory_bytes", host == 0 ? "33567789056" : "135089807360"},
            {"governor", host == 0 ? "none" : "performance"},
            {"thp", "madvise"},
            {"os", "Debian GNU/Linux 12"},
            {"steady_revision", "9f2c1ab"},
            {"engine_sha256", "3b1f0c2d9a6e4f7788c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d"},
            {"model_sha256", "c0ffee11d9a6e4f7788c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6"},
            {"model_bytes", "17102345216"}};
}

}  // namespace steady::seed
