// Which tensors a model has, in which format and at which scale. Deviations are gain / sqrt(row
// length): gain 2 where the result enters a softmax or a router, else 1. What enters the residual
// stream is scaled down by sqrt(2 blocks), as GPT-2 initialises it: the last bit of a block's sum
// then stays a small difference through any number of blocks.
#include <fmt/format.h>

#include <cmath>

#include "engine/synth/geometry.h"
#include "engine/synth/realistic.h"
#include "engine/synth/synth.h"

namespace steady {
namespace {

// Where a fourth and a fifth expert score nearly alike, arithmetic decides which one answers.
// Routed experts that add less than the shared one, and a bias that spreads the scores, keep that
// small.
constexpr float kRoutedShare = 0.5F;
constexpr float kRouterBias = 2.0F;

struct Lister {
    const Geometry& geometry;
    std::vector<std::uint32_t> outliers{};  // realistic weights: channels of the residual stream
    // Gain of a matrix whose result enters the residual stream; two do so in each block.
    float residual = 2.0F / std::sqrt(2.0F * static_cast<float>(geometry.n_blocks));
    // Of matrices that read a normed residual stream.
    float reading = 1.0F / outlier_gain(geometry, outliers.size());
    std::vector<SynthTensor> tensors{};

    bool realistic() const { return !outliers.empty(); }

    // A matrix of `rows` rows of `cols`, perhaps several of them. Rows that the wished format's
    // blocks do not divide get the format that other quantisers fall back to.
    void matrix(std::string name, Type type, float gain, std::vector<std::uint64_t> dims) {
        const auto cols = static_cast<std::int64_t>(dims[0]);
        if (cols % block_values(type) != 0) type = type == Type::q5_k ? Type::q5_1 : Type::q8_0;
        const float deviation = gain / std::sqrt(static_cast<float>(dims[0]));
        tensors.push_back({.name = std::move(name),
                           .type = type,
                           .dims = std::move(dims),
                           .deviation = deviation});
    }

    void vector(std::string name, std::uint64_t n, float mean, float deviation = 0.1F) {
        tensors.push_back({.name = std::move(name),
                           .type = Type::f32,
                           .dims = {n},
                           .mean = mean,
                           .deviation = deviation});
    }

    // A norm whose result products read: the outlier channels come out larger there.
    void residual_norm(std::string name) {
        vector(std::move(name), geometry.dim, 1.0F);
        if (!realistic()) return;
        tensors.back().channels = outliers;
        tensors.back().factor = kOutlierFactor;
    }

    void router(const std::string& block) {
        const Geometry& g = geometry;
        const float sigmoid_gain = realistic() && g.gating == 2 ? kRealisticRouterGain : 2.0F;
        matrix(block + "ffn_gate_inp.weight", Type::f32, sigmoid_gain, {g.dim, g.n_experts});
        if (realistic()) {  // a router is led by all channels alike
            tensors.back().channels = outliers;
            tensors.back().factor = 1.0F / kOutlierFactor;
        }
        if (g.gating != 2) return;
        vector(block + "exp_probs_b.bias", g.n_experts, 0.0F,
               realistic() ? kRealisticRouterBias : kRouterBias);
    }

    void attention(const std::string& block) {
        const Geometry& g = geometry;
        const std::uint64_t head = g.nope + g.n_rot;
        residual_norm(block + "attn_norm.weight");
        if (g.q_rank != 0) {
            matrix(block + "attn_q_a.weight", Type::q4_0, reading, {g.dim, g.q_rank});
            vector(block + "attn_q_a_norm.weight", g.q_rank, 1.0F);
            matrix(block + "attn_q_b.weight", Type::q4_0, 2.0F, {g.q_rank, g.n_heads * head});
        } else {
            matrix(block + "attn_q.weight", Type::q4_0, 2.0F * reading, {g.dim, g.n_heads * head});
        }
        matrix(block + "attn_kv_a_mqa.weight", Type::q4_0, reading, {g.dim, g.kv_rank + g.n_rot});
        vector(block + "attn_kv_a_norm.weight", g.kv_rank, 1.0F);
        matrix(block + "attn_k_b.weight", Type::q4_0, 1.0F, {g.nope, g.kv_rank, g.n_heads});
        matrix(block + "attn_v_b.weight", Type::q4_0, 1.0F, {g.kv_rank, g.value, g.n_heads});
        matrix(block + "attn_output.weight", Type::q4_0, residual, {g.n_heads * g.value, g.dim});
    }

    void dense(const std::string& block) {
        matrix(block + "ffn_gate.weight", Type::q4_0, reading, {geometry.dim, geometry.ff});
        matrix(block + "ffn_up.weight", Type::q4_0, reading, {geometry.dim, geometry.ff});
        matrix(block + "ffn_down.weight", Type::q4_0, residual, {geometry.ff, geometry.dim});
    }

    void experts(const std::string& block) {
        const Geometry& g = geometry;
        const std::uint64_t shared = g.ff_expert * g.n_shared;
        const std::vector<std::uint64_t> into{g.dim, g.ff_expert, g.n_experts};
        router(block);
        matrix(block + "ffn_gate_exps.weight", Type::q4_0, reading, into);
        matrix(block + "ffn_up_exps.weight", Type::q4_0, reading, into);
        matrix(block + "ffn_down_exps.weight", Type::q4_0, residual * kRoutedShare,
               {g.ff_expert, g.dim, g.n_experts});
        matrix(block + "ffn_gate_shexp.weight", Type::q5_k, reading, {g.dim, shared});
        matrix(block + "ffn_up_shexp.weight", Type::q5_k, reading, {g.dim, shared});
        matrix(block + "ffn_down_shexp.weight", Type::q6_k, residual, {shared, g.dim});
    }
};

}  // namespace

std::vector<SynthTensor> synth_tensors(const SynthOptions& options) {
    const Geometry geometry = geometry_of(options);
    const bool realistic = options.weights == SynthWeights::realistic;
    Lister list{.geometry = geometry,
                .outliers = realistic ? outlier_channels(geometry, options.seed)
                                      : std::vector<std::uint32_t>{}};
    const std::vector<std::uint64_t> table{geometry.dim, geometry.n_vocab};
    // A tied embedding is also the output matrix; at deviation 1 its logits would be huge.
    list.tensors.push_back({.name = "token_embd.weight",
                            .type = Type::q6_k,
                            .dims = table,
                            .deviation = geometry.tied ? 0.05F : 1.0F});
    for (std::uint32_t i = 0; i < geometry.n_blocks; ++i) {
        const std::string block = fmt::format("blk.{}.", i);
        list.attention(block);
        list.residual_norm(block + "ffn_norm.weight");
        i < geometry.n_dense ? list.dense(block) : list.experts(block);
    }
    list.vector("output_norm.weight", geometry.dim, 1.0F);
    if (!geometry.tied) list.matrix("output.weight", Type::q6_k, 2.0F, table);
    return list.tensors;
}

}  // namespace steady
