// One line per default, best first; the first of an op names the journal entry that decided it on
// the full geometry. A line without an entry is a starting point that no experiment has confirmed:
// for lesser CPUs, for other files and prompts, or because it was not asked yet.
#include "engine/champions.h"

namespace steady {
namespace {

constexpr Champion kChampions[] = {
    {"moe", "fused", "2026-11-21-seed-swiglu-in-epilogue-3d26a1a1"},
    {"moe", "unfused", ""},
    {"mla", "absorbed", "2026-11-21-seed-absorbed-keys-e0a25161"},
    {"norm", "apart", ""},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_pair_prefetch",
     "2026-11-22-champion-dense-pair-a9cccb63"},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_prefetch", "2026-11-21-seed-micro-winner-d44fdd55"},
    {"q4_0_matvec", "avx512_vnni_rows16_q16", ""},
    {"q4_0_matvec", "avx512_vnni_rows16", ""},
    {"q4_0_matvec", "avx512_vnni", ""},
    {"q4_0_matvec", "avx2", ""},
    {"q5_k_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-22-champion-k-pair-da638883"},
    {"q5_k_matvec", "avx512_vnni_rows16_prefetch", "2026-11-21-champion-q5-k-51c7f617"},
    {"q5_k_matvec", "avx512_vnni_rows16", ""},
    {"q5_k_matvec", "avx512_vnni", ""},
    {"q5_k_matvec", "avx2", ""},
    {"q6_k_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-22-champion-k-pair-da638883"},
    {"q6_k_matvec", "avx512_vnni_rows16_prefetch", "2026-11-21-champion-q6-k-4f620cc4"},
    {"q6_k_matvec", "avx512_vnni_rows16", ""},
    {"q6_k_matvec", "avx512_vnni", ""},
    {"q6_k_matvec", "avx2", ""},
    {"q8_0_matvec", "avx512_vnni_rows16", ""},
    {"q8_0_matvec", "avx512_vnni", ""},
    {"q8_0_matvec", "avx2", ""},
    {"q4_0_matmul", "avx512_vnni_rows16_q16", "2026-11-21-champion-prompt-9db633a1"},
    {"q4_0_matmul", "avx512_vnni_rows16", ""},
    {"q5_k_matmul", "avx512_vnni_rows16", "2026-11-21-champion-prompt-9db633a1"},
    {"q6_k_matmul", "avx512_vnni_rows16", "2026-11-21-champion-prompt-9db633a1"},
    {"q8_0_matmul", "avx512_vnni_rows16", ""},
    {"q4_0_experts", "avx512_vnni_rows16_q16_pair_prefetch",
     "2026-11-22-champion-experts-pair-751baf04"},
    {"q4_0_experts", "avx512_vnni_rows16_q16_prefetch",
     "2026-11-21-champion-experts-prefetch-f25b84c6"},
    {"q4_0_experts", "avx512_vnni_rows16", ""},
    {"q4_0_experts", "avx512_vnni", ""},
    {"q4_0_experts", "avx2", ""},
    {"f32_matvec", "avx512", "2026-11-21-champion-router-product-df5ed3a0"},
    {"f32_matvec", "avx2", ""},
    {"other_matvec", "avx2", ""},
    {"mla_attention", "avx512_all_heads_prefetch", "2026-11-21-champion-deep-attention-79e6c041"},
    {"mla_attention", "avx512", "2026-11-21-champion-attention-b58d8528"},
    {"mla_attention", "avx512_all_heads_f16_prefetch", ""},
    {"mla_attention", "avx512_all_heads_bf16", ""},
    {"mla_attention", "avx512_f16", ""},
    {"mla_attention", "avx512_bf16", ""},
    {"mla_attention", "avx2", ""},
    {"mla_attention", "avx2_f16", ""},
    {"mla_attention", "avx2_bf16", ""},
    {"mla_attention_q8", "avx512_vnni_q16", ""},
    {"quantize_q8", "avx512", "2026-11-21-champion-quantising-22f09684"},
    {"quantize_q8", "avx2", ""},
    {"quantize_q16", "avx512", ""},
    {"moe_router", "avx512", "2026-11-21-champion-small-ops-6ac9673b"},
    {"moe_router", "avx2", ""},
    {"rms_norm", "avx512", "2026-11-21-champion-small-ops-6ac9673b"},
    {"rms_norm", "avx2", ""},
    {"rms_norm_q8", "avx512", ""},
    {"rope", "avx512", "2026-11-21-champion-small-ops-6ac9673b"},
    {"swiglu", "avx512", "2026-11-21-champion-small-ops-6ac9673b"},
    {"swiglu", "avx2", ""},
    {"add", "avx512", "2026-11-21-champion-small-ops-6ac9673b"},
};

}  // namespace

std::span<const Champion> champions() { return kChampions; }

}  // namespace steady
