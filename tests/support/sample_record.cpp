// A fixed linear congruential generator gives the same records on every machine.
#include "tests/support/sample_record.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"

namespace steady {
namespace {

struct Noise {
    std::uint64_t state = 12345;
    double next() {  // roughly normal, sd 1
        double sum = 0;
        for (int i = 0; i < 12; ++i) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            sum += static_cast<double>(state >> 11) / 9007199254740992.0;
        }
        return sum - 6;
    }
    int coin() { return static_cast<int>(std::abs(next() * 1000)) % 2; }
};

Spec sample_spec() {
    std::ifstream in(std::string(STEADY_SOURCE_DIR) +
                     "/tests/data/specs/good/experts-fused-vnni.json");
    std::ostringstream text;
    text << in.rdbuf();
    const SpecResult result = parse_spec(text.str(), "");
    if (!result.spec) {
        throw Error{"the sample experiment is not valid"};
    }
    return *result.spec;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Pair sample_pair(Noise& noise, int number, PairKind kind, double effect) {
    Pair pair;
    pair.gate = 3;
    pair.number = number;
    pair.kind = kind;
    pair.sealed = true;
    for (int block = 0; block < 20; ++block) {
        pair.coins += noise.coin() != 0 ? '1' : '0';
    }
    const double shared = 0.01 * noise.next();
    const double d = effect + 0.004 * noise.next();
    for (int token = 0; token < 80; ++token) {
        const double warm = token < 10 ? 0.2 * (10 - token) / 10.0 : 0;
        pair.a["token_ns"].push_back(37.4e6 * std::exp(shared + warm + 0.01 * noise.next()));
        pair.b["token_ns"].push_back(37.4e6 * std::exp(shared + warm - d + 0.01 * noise.next()));
    }
    pair.a["ttft_ns"] = {410e6 * std::exp(0.02 * noise.next())};
    pair.b["ttft_ns"] = {405e6 * std::exp(0.02 * noise.next())};
    pair.a["rss_bytes"] = {2.31e9};
    pair.b["rss_bytes"] = {2.31e9};
    pair.a["launches_per_token"] = {565};
    pair.b["launches_per_token"] = {471};
    return pair;
}

double pair_value(const Pair& pair) {
    const auto steady = [](const std::map<std::string, std::vector<double>>& arm) {
        const std::vector<double>& all = arm.at("token_ns");
        return median({all.begin() + 16, all.end()});
    };
    return std::log(steady(pair.a)) - std::log(steady(pair.b));
}

GateResult gate_result(const Spec& spec, std::size_t index, const char* outcome,
                       const std::string& detail) {
    GateResult out;
    out.id = spec.gates[index].id;
    out.metric = spec.gates[index].metric;
    out.level = spec.gates[index].level;
    out.role = spec.gates[index].role;
    out.outcome = outcome;
    out.detail = detail;
    return out;
}

void add_numbers(GateResult& gate, double effect, double half, int pairs) {
    gate.effect = effect;
    gate.interval = {effect - half, effect + half};
    gate.pairs = pairs;
    gate.log_e_accept = 5.4;
    gate.log_e_reject = -3.2;
    gate.log_e_regression = -4.1;
}

Evidence sample_evidence(const Spec& spec) {
    Evidence out;
    protocol::OpenReply open;
    open.engine_build = "5f2c9d1";
    open.architecture = "deepseek2";
    open.model_name = "GLM-4.7-Flash";
    open.n_blocks = 47;
    for (const auto& [arm, asked] : spec.arms) {
        protocol::AppliedArm& applied = open.arms[arm];
        for (const auto& [op, variant] : asked.kernels) {
            applied.kernels[op] = {variant, "flag", 46};
        }
        applied.kernels["rms_norm"] = {"reference", "reference", 95};
        applied.steps["moe"] = "fused";
        applied.threads = 2;
        applied.engine_flags["burn"] = "0%";
        applied.launches_per_token = arm == "A" ? 565 : 471;
        applied.weight_bytes_per_token = 2189000000;
    }
    open.op_shapes["q4_0_experts"] = {"n_experts=64,n_used=4,cols=2048,hidden=1536"};
    out.applied = open;
    protocol::CorrectnessReply correctness;
    correctness.positions = 32;
    correctness.top1_agree = 1;
    correctness.kl = 3.1e-6;
    correctness.kl_max = 2.2e-5;
    correctness.max_abs = 0.0143;
    correctness.rel_l2 = 8.8e-4;
    out.correctness = correctness;
    protocol::ProfileReply profile;
    for (const char* arm : {"A", "B"}) {
        const double experts = arm[0] == 'A' ? 21.3e6 : 20.1e6;
        const std::string variant = spec.arms.at(arm).kernels.at("q4_0_experts");
        profile.arms[arm] = {{"q4_0_experts", variant, 46, experts, 1.246e9},
                             {"q4_0_matvec", "avx512_vnni", 235, 9.9e6, 0.66e9},
                             {"q6_k_matvec", "avx512_vnni", 1, 3.2e6, 0.26e9},
                             {"mla_attention", "avx512", 47, 1.1e6, 0.02e9},
                             {"moe_router", "reference", 46, 0.24e6, 0},
                             {"rms_norm", "reference", 95, 0.21e6, 0}};
        for (protocol::ProfileRow& row : profile.arms[arm]) {
            for (int i = 0; i < 8; ++i) {
                const double machine = 1 + 0.05 * ((i * 5) % 8);
                const double own = 1 + 0.001 * ((i * (arm[0] == 'A' ? 3 : 7)) % 8);
                row.process_ns.push_back(row.ns_per_token * machine * own);
            }
        }
        profile.launches_per_token[arm] = arm[0] == 'A' ? 565 : 471;
        profile.barrier_ns_per_token[arm] = arm[0] == 'A' ? 1.9e6 : 1.5e6;
    }
    out.profile = profile;
    return out;
}

Record empty_record(const Spec& spec) {
    Record out;
    out.spec = spec;
    out.spec_text = spec.canonical;
    out.id = spec.id + "-" + spec.sha256.substr(0, 8);
    out.job = 42;
    out.question_sha = sha256_hex("question");
    out.seed = 7;
    out.submitted_at = "2026-11-21T02:40:11Z";
    Attempt attempt;
    attempt.epoch = 1;
    attempt.worker = "6f1e0c7e-6c1f-4d1b-9d5e-0f7a4a1c2b3d";
    attempt.host = "bench-1";
    attempt.fingerprint = {{"cpu_model", "AMD EPYC 9R14"},
                           {"cpus", "2"},
                           {"kernel", "6.1.0-28-amd64"},
                           {"memory_bytes", "16642998272"},
                           {"governor", "not shown by this machine"},
                           {"thp", "madvise"},
                           {"engine_sha256", sha256_hex("engine")},
                           {"model_sha256", sha256_hex("model")},
                           {"model_bytes", "17104623616"},
                           {"steady_revision", "5f2c9d1"},
                           {"os", "Debian GNU/Linux 12"}};
    attempt.began = "2026-11-21T02:40:12Z";
    out.attempts = {attempt};
    return out;
}

void add_pairs(Record& record, int n, double effect) {
    Noise noise;
    for (int i = 0; i < 6; ++i) {
        record.pairs.push_back(sample_pair(noise, i, PairKind::aa, 0));
    }
    for (int i = 0; i < n; ++i) {
        if (i == 4) {
            Pair bad = sample_pair(noise, i, PairKind::measure, effect - 0.03);
            bad.discarded = "steal 3.1 % in the window";
            record.pairs.push_back(bad);
        }
        Pair pair = sample_pair(noise, i, PairKind::measure, effect);
        pair.attempt = i == 4 ? 1 : 0;
        record.pairs.push_back(pair);
    }
}

void add_decision(Record& record, Verdict verdict, int n) {
    Analysis& out = record.analysis.emplace();
    out.verdict = verdict;
    out.metric = "decode_tps";
    out.pairs = n;
    out.discarded = 1;
    out.why = "early_e";
    std::vector<double> so_far;
    for (const Pair& pair : record.pairs) {
        if (pair.kind != PairKind::measure || !pair.discarded.empty()) {
            continue;
        }
        out.d.push_back(pair_value(pair));
        so_far.push_back(out.d.back());
        const auto count = static_cast<double>(so_far.size());
        const double half = 0.012 / std::sqrt(count) + 0.02 / count;
        const double center = median(so_far);
        out.narrowing.push_back(count < 5 ? Interval{} : Interval{center - half, center + half});
        out.log_e_over_pairs.push_back((verdict == Verdict::accept ? 0.5 : -0.3) * count - 0.4);
    }
    out.effect = std::exp(median(out.d)) - 1;
    out.interval = out.narrowing.back();
    out.aa_band = {-0.0041, 0.0038};
    out.sigma_d = 0.0043;
    out.sigma0 = 0.0040;
    out.checks = {{"coin_audit", "ok", "183 of 340 blocks began with A"},
                  {"carry_over", "ok", "p = 0.41 over 2000 permutations"},
                  {"order_effect", "ok", "AB +3.2 %, BA +3.0 %"},
                  {"drift", "flag", "d falls by 0.02 % a pair"},
                  {"bimodality", "ok", "one mode"},
                  {"outliers", "ok", "0 of 17 beyond 5 sigma"},
                  {"aa_band", "ok", "the effect lies outside −0.4 % to +0.4 %"}};
    record.state = "done";
    record.decided_at = "2026-11-21T02:42:31Z";
    record.seconds = 139.4;
    record.attempts[0].ended = record.decided_at;
    record.attempts[0].how = "done";
    record.journal_path = "journal/2026-11-21-" + record.spec.id + ".md";
}

}  // namespace

Record accepted_record() {
    const Spec spec = sample_spec();
    Record out = empty_record(spec);
    add_pairs(out, 17, 0.031);
    add_decision(out, Verdict::accept, 17);
    out.evidence = sample_evidence(spec);
    out.earlier = {"experts-fused-vnni-1a2b3c4d"};
    Analysis& analysis = *out.analysis;
    analysis.prediction = "inside";
    analysis.sentence =
        "B decodes 3.1 % faster than A (95 % interval +2.6 % to +3.6 %, 17 pairs), and no guard "
        "got "
        "worse.";
    analysis.gates = {gate_result(spec, 0, "pass", "top-1 agrees at 32 of 32 positions, KL 3.1e-6"),
                      gate_result(spec, 1, "advice", "the op alone is 5.9 % faster"),
                      gate_result(spec, 2, "pass", "not worse by 2 %"),
                      gate_result(spec, 3, "pass", "E = 221 after 17 pairs; 200 was needed"),
                      gate_result(spec, 4, "pass", "not worse by 2 %"),
                      gate_result(spec, 5, "pass", "not worse by 5 %"),
                      gate_result(spec, 6, "pass", "equal to the byte")};
    add_numbers(analysis.gates[1], 0.059, 0.011, 10);
    add_numbers(analysis.gates[2], 0.028, 0.009, 12);
    add_numbers(analysis.gates[3], *analysis.effect, 0.005, 17);
    analysis.gates[3].interval = analysis.interval;
    add_numbers(analysis.gates[4], 0.027, 0.010, 17);
    add_numbers(analysis.gates[5], 0.012, 0.021, 17);
    add_numbers(analysis.gates[6], 0, 0.0001, 17);
    return out;
}

Record rejected_record() {
    const Spec spec = sample_spec();
    Record out = empty_record(spec);
    add_pairs(out, 10, -0.024);
    add_decision(out, Verdict::reject, 10);
    out.evidence = sample_evidence(spec);
    Analysis& analysis = *out.analysis;
    analysis.reason = "regression";
    analysis.prediction = "below";
    analysis.sentence =
        "B decodes 2.4 % slower than A (95 % interval −3.2 % to −1.7 %, 10 pairs): a regression.";
    analysis.gates = {
        gate_result(spec, 0, "pass", "top-1 agrees at 32 of 32 positions, KL 3.1e-6"),
        gate_result(spec, 1, "advice", "the op alone is 42 % faster"),
        gate_result(spec, 2, "pass", "not worse by 2 %"),
        gate_result(spec, 3, "fail", "slower by 2.4 %: E against B = 61 after 10 pairs"),
        gate_result(spec, 4, "open", "not settled after 10 pairs"),
        gate_result(spec, 5, "open", "not settled after 10 pairs"),
        gate_result(spec, 6, "pass", "equal to the byte")};
    add_numbers(analysis.gates[1], 0.42, 0.03, 10);
    add_numbers(analysis.gates[2], 0.002, 0.012, 10);
    add_numbers(analysis.gates[3], *analysis.effect, 0.008, 10);
    analysis.gates[3].interval = analysis.interval;
    add_numbers(analysis.gates[4], -0.021, 0.03, 10);
    analysis.gates[4].interval.high = std::nullopt;
    analysis.gates[5].pairs = 10;
    add_numbers(analysis.gates[6], 0, 0.0001, 10);
    return out;
}

Record wrong_output_record() {
    const Spec spec = sample_spec();
    Record out = empty_record(spec);
    out.evidence = sample_evidence(spec);
    protocol::CorrectnessReply wrong = *out.evidence.correctness->engine;
    wrong.top1_agree = 0.71875;
    wrong.kl = 0.31;
    out.evidence.correctness = wrong;
    out.evidence.profile.reset();
    Analysis& analysis = out.analysis.emplace();
    analysis.verdict = Verdict::reject;
    analysis.reason = "wrong_output";
    analysis.metric = "decode_tps";
    analysis.sentence = "B computes something else: top-1 agrees at 23 of 32 positions.";
    analysis.gates = {gate_result(spec, 0, "fail", "top1_agree is 0.719, needed >=0.999")};
    for (std::size_t i = 1; i < spec.gates.size(); ++i) {
        analysis.gates.push_back(gate_result(spec, i, "skipped", "the gate tokens failed"));
    }
    analysis.prediction = "no_answer";
    out.state = "done";
    out.decided_at = "2026-11-21T02:40:15Z";
    out.seconds = 2.9;
    out.journal_path = "journal/2026-11-21-" + spec.id + ".md";
    return out;
}

Record running_record() {
    Record out = empty_record(sample_spec());
    add_pairs(out, 3, 0.031);
    out.state = "running";
    return out;
}

Record hostile_record(const std::string& canary) {
    Record out = accepted_record();
    const std::string nasty =
        "<script>alert(1)</script> | [x](javascript:alert(1)) ![i](http://e.x/i.png) `code` ``` "
        "\x1b[31mred\x1b[0m \n# heading\n\n---\n<!-- notes --> \xe2\x80\xae & <b>bold</b> "
        "postgres://steady:" +
        canary + "@db/steady token=" + canary + " ";
    out.spec.hypothesis.claim = nasty;
    out.spec.hypothesis.because = nasty;
    out.spec.owner = nasty;
    out.spec.retry_if = nasty;
    out.spec.subject.model = nasty;
    out.note = nasty;
    out.earlier = {nasty};
    Analysis& analysis = *out.analysis;
    analysis.sentence = nasty;
    analysis.checks[0].detail = nasty;
    for (GateResult& gate : analysis.gates) {
        gate.detail = nasty;
    }
    for (Pair& pair : out.pairs) {
        if (!pair.discarded.empty()) {
            pair.discarded = nasty;
        }
    }
    out.attempts[0].host = nasty;
    out.attempts[0].fingerprint["cpu_model"] = nasty;
    out.attempts[0].fingerprint["env_password"] = canary;
    out.evidence.applied->engine->arms["B"].engine_flags["note"] = nasty;
    out.evidence.profile->arms["B"][0].variant = nasty;
    out.evidence.correctness_failure = nasty;
    return out;
}

}  // namespace steady
