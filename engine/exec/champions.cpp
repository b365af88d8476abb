// One line per default, best first; the first of an op names the journal entry that decided it on
// the full geometry. A CPU takes the first line that its own class decided, else the first that its
// vendor's CPUs with the same features decided, else the first line. A GPU takes the first line
// that a GPU of its name decided, else the first line. A line without an entry is a starting point
// that no experiment has confirmed: for lesser CPUs, for other files and prompts, or because it was
// not asked yet.
#include "engine/exec/champions.h"

#include <string>

namespace steady {
namespace {

constexpr std::string_view kH100 = "NVIDIA H100 80GB HBM3";
constexpr std::string_view kH200 = "NVIDIA H200";

constexpr Champion kChampions[] = {
    {"block", "apart", ""},
    {"block", "whole", ""},
    {"block", "joined", ""},
    {"moe", "fused", "2026-11-21-seed-swiglu-in-epilogue-3d26a1a1", "intel-avx512_vnni"},
    {"moe", "unfused", ""},
    {"mla", "spans_i8x2", "2026-11-26-champion-amx-deep-spans-162e6a2b", "intel-amx"},
    {"mla", "absorbed_i16", "2026-11-27-champion-zen5-deep-i16-12f2ce3a", "amd-26-avx512_vnni"},
    {"mla", "absorbed_i16", "2026-11-22-champion-deep-i16-62018ffd", "amd-avx2"},
    {"mla", "absorbed", "2026-11-21-seed-absorbed-keys-e0a25161", "intel-avx512_vnni"},
    {"norm", "apart", ""},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_pair_prefetch",
     "2026-11-22-champion-dense-pair-a9cccb63", "intel-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_prefetch", "2026-11-21-seed-micro-winner-d44fdd55",
     "intel-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16_q16", ""},
    {"q4_0_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-25-champion-amx-bytes-1f19bd20",
     "intel-amx"},
    {"q4_0_matvec", "avx512_vnni_rows16_apart_prefetch",
     "2026-11-27-champion-zen5-apart-bd8b2682-r6b1e1351", "amd-26-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-24-champion-zen5-bytes-8c92febc",
     "amd-26-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16", "2026-11-29-champion-zen4-streams-a0ad9201",
     "amd-25-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni", ""},
    {"q4_0_matvec", "avx2_rows16_q16_prefetch", "2026-11-23-champion-avx2-dense-rows16-4d90a19d",
     "amd-avx2"},
    {"q4_0_matvec", "avx2_rows8_q16_prefetch", "2026-11-22-champion-avx2-dense-q16-7e7c9a6a",
     "amd-avx2"},
    {"q4_0_matvec", "avx2_rows8_prefetch", "2026-11-22-champion-avx2-dense-543903af", "amd-avx2"},
    {"q4_0_matvec", "avx2", ""},
    {"q5_k_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-22-champion-k-pair-da638883",
     "intel-avx512_vnni"},
    {"q5_k_matvec", "avx512_vnni_rows16_pair_prefetch",
     "2026-11-26-champion-k-pair-da638883-r4b00b09d", "intel-amx"},
    {"q5_k_matvec", "avx512_vnni_rows16_prefetch",
     "2026-11-27-champion-zen5-apart-bd8b2682-r6b1e1351", "amd-26-avx512_vnni"},
    {"q5_k_matvec", "avx512_vnni_rows16_prefetch", "2026-11-21-champion-q5-k-51c7f617",
     "intel-avx512_vnni"},
    {"q5_k_matvec", "avx512_vnni_rows16", "2026-11-29-champion-zen4-streams-a0ad9201",
     "amd-25-avx512_vnni"},
    {"q5_k_matvec", "avx512_vnni", ""},
    {"q5_k_matvec", "avx2_rows16_prefetch", "2026-11-22-champion-avx2-k-edd1e3cc", "amd-avx2"},
    {"q5_k_matvec", "avx2", ""},
    {"q6_k_matvec", "avx512_vnni_rows16_pair_prefetch", "2026-11-22-champion-k-pair-da638883",
     "intel-avx512_vnni"},
    {"q6_k_matvec", "avx512_vnni_rows16_pair_prefetch",
     "2026-11-26-champion-k-pair-da638883-r4b00b09d", "intel-amx"},
    {"q6_k_matvec", "avx512_vnni_rows16_apart_prefetch",
     "2026-11-27-champion-zen5-apart-bd8b2682-r6b1e1351", "amd-26-avx512_vnni"},
    {"q6_k_matvec", "avx512_vnni_rows16_prefetch", "2026-11-21-champion-q6-k-4f620cc4",
     "intel-avx512_vnni"},
    {"q6_k_matvec", "avx512_vnni_rows16", "2026-11-29-champion-zen4-streams-a0ad9201",
     "amd-25-avx512_vnni"},
    {"q6_k_matvec", "avx512_vnni", ""},
    {"q6_k_matvec", "avx2_rows16_prefetch", "2026-11-22-champion-avx2-k-edd1e3cc", "amd-avx2"},
    {"q6_k_matvec", "avx2", ""},
    {"q8_0_matvec", "avx512_vnni_rows16", ""},
    {"q8_0_matvec", "avx512_vnni", ""},
    {"q8_0_matvec", "avx2_rows16_prefetch", ""},
    {"q8_0_matvec", "avx2", ""},
    {"q4_0_matmul", "avx512_vnni_rows16_q16", "2026-11-21-champion-prompt-9db633a1",
     "intel-avx512_vnni"},
    {"q4_0_matmul", "amx_int8_rows16_parts", "2026-11-25-champion-amx-parts-512-c146355a",
     "intel-amx"},
    {"q4_0_matmul", "avx512_vnni_rows16_pair_apart", "2026-11-28-champion-zen5-batch-ab27ba58",
     "amd-26-avx512_vnni"},
    {"q4_0_matmul", "avx512_vnni_rows16_pair_apart",
     "2026-11-29-champion-zen5-batch-ab27ba58-r80741bff", "amd-25-avx512_vnni"},
    {"q4_0_matmul", "avx512_vnni_rows16_panels_pair", "2026-11-27-champion-zen5-prompt-776d2d56",
     "amd-26-avx512_vnni"},
    {"q4_0_matmul", "avx512_vnni_rows16", ""},
    {"q4_0_matmul", "avx2_rows16_q16", ""},
    {"q4_0_matmul", "avx2_rows8_q16", ""},
    {"q4_0_matmul", "avx2_rows8", ""},
    {"q5_k_matmul", "avx512_vnni_rows16", "2026-11-21-champion-prompt-9db633a1",
     "intel-avx512_vnni"},
    {"q5_k_matmul", "avx512_vnni_rows16_panels_pair", "2026-11-28-champion-zen5-batch-ab27ba58",
     "amd-26-avx512_vnni"},
    {"q5_k_matmul", "avx512_vnni_rows16_panels_pair",
     "2026-11-29-champion-zen5-batch-ab27ba58-r80741bff", "amd-25-avx512_vnni"},
    {"q5_k_matmul", "avx512_vnni_rows16_panels", "2026-11-27-champion-zen5-prompt-776d2d56",
     "amd-26-avx512_vnni"},
    {"q5_k_matmul", "amx_int8_rows16_parts", "2026-11-25-champion-amx-parts-512-c146355a",
     "intel-amx"},
    {"q5_k_matmul", "avx2_rows16", ""},
    {"q6_k_matmul", "avx512_vnni_rows16", "2026-11-21-champion-prompt-9db633a1",
     "intel-avx512_vnni"},
    {"q6_k_matmul", "avx512_vnni_rows16_pair", "2026-11-28-champion-zen5-batch-ab27ba58",
     "amd-26-avx512_vnni"},
    {"q6_k_matmul", "avx512_vnni_rows16_pair", "2026-11-29-champion-zen5-batch-ab27ba58-r80741bff",
     "amd-25-avx512_vnni"},
    {"q6_k_matmul", "amx_int8_rows16_parts", "2026-11-25-champion-amx-parts-512-c146355a",
     "intel-amx"},
    {"q6_k_matmul", "avx2_rows16", ""},
    {"q8_0_matmul", "avx512_vnni_rows16", ""},
    {"q8_0_matmul", "avx2_rows16", ""},
    {"q4_0_experts", "avx512_vnni_rows16_q16_pair_prefetch",
     "2026-11-22-champion-experts-pair-751baf04", "intel-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16_q16_prefetch",
     "2026-11-21-champion-experts-prefetch-f25b84c6", "intel-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16_pair_prefetch", "2026-11-25-champion-amx-bytes-1f19bd20",
     "intel-amx"},
    {"q4_0_experts", "avx512_vnni_rows16_apart_prefetch",
     "2026-11-27-champion-zen5-apart-bd8b2682-r6b1e1351", "amd-26-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16_pair_prefetch", "2026-11-24-champion-zen5-bytes-8c92febc",
     "amd-26-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16", "2026-11-29-champion-zen4-streams-a0ad9201",
     "amd-25-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni", ""},
    {"q4_0_experts", "avx2_rows16_q16_prefetch",
     "2026-11-23-champion-avx2-experts-rows16-prefetch-4a514829", "amd-avx2"},
    {"q4_0_experts", "avx2_rows8_q16_prefetch", ""},
    {"q4_0_experts", "avx2", ""},
    {"f32_matvec", "avx512", "2026-11-21-champion-router-product-df5ed3a0", "intel-avx512_vnni"},
    {"f32_matvec", "avx2", "2026-11-23-champion-avx2-router-product-de3ff8dd", "amd-avx2"},
    {"other_matvec", "avx2", ""},
    {"mla_attention", "avx512_all_heads_prefetch", "2026-11-21-champion-deep-attention-79e6c041",
     "intel-avx512_vnni"},
    {"mla_attention", "avx512", "2026-11-21-champion-attention-b58d8528", "intel-avx512_vnni"},
    {"mla_attention", "avx512_all_heads_f16_prefetch", ""},
    {"mla_attention", "avx512_all_heads_bf16", ""},
    {"mla_attention", "avx512_f16", ""},
    {"mla_attention", "avx512_bf16", ""},
    {"mla_attention", "avx2_all_heads", "2026-11-22-champion-avx2-attention-95dbdbb3", "amd-avx2"},
    {"mla_attention", "avx2_all_heads_f16", ""},
    {"mla_attention", "avx2_all_heads_bf16", ""},
    {"mla_attention", "avx2", ""},
    {"mla_attention", "avx2_f16", ""},
    {"mla_attention", "avx2_bf16", ""},
    {"mla_attention_q8", "avx512_vnni_q16", ""},
    {"mla_attention_i16", "avx512_vnni_ahead", "2026-11-27-champion-zen5-deep-ahead-1c08ed25",
     "amd-26-avx512_vnni"},
    {"mla_attention_i16", "avx512_vnni_side_by_side",
     "2026-11-29-champion-zen4-deep-side-by-side-dc1cce06-2", "amd-25-avx512_vnni"},
    {"mla_attention_i16", "avx512_vnni", "2026-11-27-champion-zen5-deep-i16-12f2ce3a",
     "amd-26-avx512_vnni"},
    {"mla_attention_i16", "avx512_vnni", "2026-11-23-champion-avx512-deep-i16-59b5f077",
     "intel-avx512_vnni"},
    {"mla_attention_i16", "avx2", "2026-11-22-champion-deep-i16-62018ffd", "amd-avx2"},
    {"mla_attention_i8x2", "amx_int8", "2026-11-26-champion-amx-deep-spans-162e6a2b", "intel-amx"},
    {"products", "cuda_planes", ""},
    {"products", "cuda_floats", ""},
    {"token_row", "cuda_planes", ""},
    {"token_row", "cuda_floats", ""},
    {"greedy_token", "cuda_cluster", ""},
    {"greedy_token", "cuda_block", ""},
    {"mla_decode", "cuda_cluster", ""},
    {"mla_decode", "cuda_planes", ""},
    {"mla_decode", "cuda_floats", ""},
    {"moe_decode", "cuda_planes", ""},
    {"moe_decode", "cuda_floats", ""},
    {"block_decode", "cuda_polled", "2026-11-29-gpu-polled-full-3b1c1b00-r2fec33cf", kH200},
    {"block_decode", "cuda_polled", "2026-11-29-gpu-polled-full-3b1c1b00-re1ed63af", kH100},
    {"block_decode", "cuda_wide", "2026-11-28-gpu-wide-full-8192-48f20707-r22895f94", kH100},
    {"block_decode", "cuda_parts", "2026-11-27-gpu-parts-full-deep-f008959e", kH100},
    {"block_decode", "cuda_early", "2026-11-26-gpu-early-full-944f5d52", kH100},
    {"block_decode", "cuda_lean", "2026-11-25-gpu-lean-full-e00ae6a0", kH100},
    {"block_decode", "cuda_handed", ""},
    {"products_batch", "cuda_halves", ""},
    {"mla_batch", "cuda_halves", ""},
    {"moe_batch", "cuda_halves", ""},
    {"quantize_q8", "avx512", "2026-11-21-champion-quantising-22f09684", "intel-avx512_vnni"},
    {"quantize_q8", "avx2", ""},
    {"quantize_q16", "avx512", ""},
    {"quantize_q16", "avx2", "2026-11-23-champion-avx2-quantising-ae948b1d", "amd-avx2"},
    {"moe_router", "avx512", "2026-11-21-champion-small-ops-6ac9673b", "intel-avx512_vnni"},
    {"moe_router", "avx2", "2026-11-23-champion-avx2-small-ops-d76ee95b", "amd-avx2"},
    {"rms_norm", "avx512", "2026-11-21-champion-small-ops-6ac9673b", "intel-avx512_vnni"},
    {"rms_norm", "avx2", "2026-11-23-champion-avx2-small-ops-d76ee95b", "amd-avx2"},
    {"rms_norm_q8", "avx512", ""},
    {"rms_norm_q8", "avx2", ""},
    {"rope", "avx512", "2026-11-21-champion-small-ops-6ac9673b", "intel-avx512_vnni"},
    {"rope", "avx2", "2026-11-23-champion-avx2-small-ops-d76ee95b", "amd-avx2"},
    {"swiglu", "avx512", "2026-11-21-champion-small-ops-6ac9673b", "intel-avx512_vnni"},
    {"swiglu", "avx2", "2026-11-23-champion-avx2-small-ops-d76ee95b", "amd-avx2"},
    {"add", "avx512", "2026-11-21-champion-small-ops-6ac9673b", "intel-avx512_vnni"},
    {"add", "avx2", "2026-11-23-champion-avx2-small-ops-d76ee95b", "amd-avx2"},
};

constexpr Champion kFlags[] = {
    {"launch", "dependent", "2026-11-24-gpu-dependent-full-9441eeb6", kH200},
    {"cache", "f16", "2026-11-30-gpu-cache-full-da56d9aa", kH200},
    {"batch", "512", "2026-11-25-gpu-prompt-582c4611", kH100},
    {"batch", "256", "2026-11-28-champion-zen5-batch-ab27ba58", "amd-26-avx512_vnni"},
    {"batch", "256", "2026-11-29-champion-zen5-batch-ab27ba58-r80741bff", "amd-25-avx512_vnni"},
};

// "amd-26-avx512_vnni" → "amd-avx512_vnni"
std::string without_family(std::string_view name) {
    const std::size_t first = name.find('-');
    const std::size_t second = name.find('-', first + 1);
    if (second == std::string_view::npos) return std::string(name);
    return std::string(name.substr(0, first)) + std::string(name.substr(second));
}

}  // namespace

bool decided_on_class(const Champion& champion, std::string_view here) {
    return champion.decided_on == here || champion.decided_on == without_family(here);
}

bool decided_on_kin(const Champion& champion, std::string_view here) {
    return !champion.decided_on.empty() &&
           without_family(champion.decided_on) == without_family(here);
}

bool is_gpu(std::string_view decided_on) { return decided_on.starts_with("NVIDIA "); }

std::span<const Champion> champions() { return kChampions; }

std::span<const Champion> flag_champions() { return kFlags; }

std::string_view flag_champion(std::string_view flag, std::string_view here) {
    for (const Champion& one : kFlags) {
        if (one.op == flag && decided_on_class(one, here)) return one.variant;
    }
    return "";
}

}  // namespace steady
