// Which tensors a model has, in which format and at which scale. Deviations are gain / sqrt(row
// length): gain 2 where the result enters a softmax, a router or the residual stream, 1.5 for the
// attention output, else 1. Activations then keep their size through any number of blocks.
#include <fmt/format.h>

#include <cmath>

#include "engine/synth/geometry.h"
#include "engine/synth/synth.h"

namespace steady {
namespace {

struct Lister {
    const Geometry& geometry;
    std::vector<SynthTensor> tensors{};

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

    void vector(std::string name, std::uint64_t n, float mean) {
        tensors.push_back({.name = std::move(name),
                           .type = Type::f32,
                           .dims = {n},
                           .mean = mean,
                           .deviation = 0.1F});
    }

    void attention(const std::string& block) {
        const Geometry& g = geometry;
        const std::uint64_t head = g.nope + g.n_rot;
        vector(block + "attn_norm.weight", g.dim, 1.0F);
        if (g.q_rank != 0) {
            matrix(block + "attn_q_a.weight", Type::q4_0, 1.0F, {g.dim, g.q_rank});
            vector(block + "attn_q_a_norm.weight", g.q_rank, 1.0F);
            matrix(block + "attn_q_b.weight", Type::q4_0, 2.0F, {g.q_rank, g.n_heads * head});
        } else {
            matrix(block + "attn_q.weight", Type::q4_0, 2.0F, {g.dim, g.n_heads * head});
        }
        matrix(block + "attn_kv_a_mqa.weight", Type::q4_0, 1.0F, {g.dim, g.kv_rank + g.n_rot});
        vector(block + "attn_kv_a_norm.weight", g.kv_rank, 1.0F);
        matrix(block + "attn_k_b.weight", Type::q4_0, 1.0F, {g.nope, g.kv_rank, g.n_heads});
        matrix(block + "attn_v_b.weight", Type::q4_0, 1.0F, {g.kv_rank, g.value, g.n_heads});
        matrix(block + "attn_output.weight", Type::q4_0, 1.5F, {g.n_heads * g.value, g.dim});
    }

    void dense(const std::string& block) {
        matrix(block + "ffn_gate.weight", Type::q4_0, 1.0F, {geometry.dim, geometry.ff});
        matrix(block + "ffn_up.weight", Type::q4_0, 1.0F, {geometry.dim, geometry.ff});
        matrix(block + "ffn_down.weight", Type::q4_0, 2.0F, {geometry.ff, geometry.dim});
    }

    void experts(const std::string& block) {
        const Geometry& g = geometry;
        const std::uint64_t shared = g.ff_expert * g.n_shared;
        matrix(block + "ffn_gate_inp.weight", Type::f32, 2.0F, {g.dim, g.n_experts});
        if (g.gating == 2) vector(block + "exp_probs_b.bias", g.n_experts, 0.0F);
        matrix(block + "ffn_gate_exps.weight", Type::q4_0, 1.0F, {g.dim, g.ff_expert, g.n_experts});
        matrix(block + "ffn_up_exps.weight", Type::q4_0, 1.0F, {g.dim, g.ff_expert, g.n_experts});
        matrix(block + "ffn_down_exps.weight", Type::q4_0, 2.0F, {g.ff_expert, g.dim, g.n_experts});
        matrix(block + "ffn_gate_shexp.weight", Type::q5_k, 1.0F, {g.dim, shared});
        matrix(block + "ffn_up_shexp.weight", Type::q5_k, 1.0F, {g.dim, shared});
        matrix(block + "ffn_down_shexp.weight", Type::q6_k, 2.0F, {shared, g.dim});
    }
};

}  // namespace

std::vector<SynthTensor> synth_tensors(const SynthOptions& options) {
    const Geometry geometry = geometry_of(options);
    Lister list{.geometry = geometry};
    const std::vector<std::uint64_t> table{geometry.dim, geometry.n_vocab};
    // A tied embedding is also the output matrix; at deviation 1 its logits would be huge.
    list.tensors.push_back({.name = "token_embd.weight",
                            .type = Type::q6_k,
                            .dims = table,
                            .deviation = geometry.tied ? 0.05F : 1.0F});
    for (std::uint32_t i = 0; i < geometry.n_blocks; ++i) {
        const std::string block = fmt::format("blk.{}.", i);
        list.attention(block);
        list.vector(block + "ffn_norm.weight", geometry.dim, 1.0F);
        i < geometry.n_dense ? list.dense(block) : list.experts(block);
    }
    list.vector("output_norm.weight", geometry.dim, 1.0F);
    if (!geometry.tied) list.matrix("output.weight", Type::q6_k, 2.0F, table);
    return list.tensors;
}

}  // namespace steady
