// The code that each cited verdict measured: the hash that engine/exec/code.cmake gives at the
// revision of its record. Where the build was dirty, no revision holds that code, so such a default
// is open.
#include "engine/exec/champions_code.h"

#include "engine/exec/code.h"

namespace steady {
namespace {

constexpr bool kOpen = true;

// Open: the code changed since, or was never committed as it ran. Ask again on a machine of the
// class.
constexpr MeasuredCode kMeasured[] = {
    {"moe", "fused", "79a001cb9b3523cf"},
    {"mla", "spans_i8x2", "b9193336d24e9bc5"},
    {"mla", "absorbed_i16", "257939d76c3adddc", false, "amd-26-avx512_vnni"},
    {"mla", "absorbed_i16", "620b1b33ff2a3609", kOpen},
    {"mla", "absorbed", "a5deaa38dec10668", kOpen},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_pair_prefetch", "9de13af45c24da55", kOpen},
    {"q4_0_matvec", "avx512_vnni_rows16_q16_prefetch", "", kOpen},
    {"q4_0_matvec", "avx512_vnni_rows16_apart_prefetch", "938333d4e3596440", false,
     "amd-26-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16_pair_prefetch", "1416c972a8b777da", false, "intel-amx"},
    {"q4_0_matvec", "avx512_vnni_rows16_pair_prefetch", "b3a57010a7b49514", kOpen,
     "amd-26-avx512_vnni"},
    {"q4_0_matvec", "avx512_vnni_rows16", "b6da1e291eb48fd6"},
    {"q4_0_matvec", "avx2_rows16_q16_prefetch", "f8eb27e0b686fddd", kOpen},
    {"q4_0_matvec", "avx2_rows8_q16_prefetch", "0756fb47efd54c01", kOpen},
    {"q4_0_matvec", "avx2_rows8_prefetch", "82e4e4f33ab5d84a", kOpen},
    {"q5_k_matvec", "avx512_vnni_rows16_pair_prefetch", "6eec69e9c192e55c", false, "intel-amx"},
    {"q5_k_matvec", "avx512_vnni_rows16_pair_prefetch", "dd45e079dbe59b43", kOpen},
    {"q5_k_matvec", "avx512_vnni_rows16_prefetch", "f600b5ef526fed2c", false, "amd-26-avx512_vnni"},
    {"q5_k_matvec", "avx512_vnni_rows16_prefetch", "", kOpen},
    {"q5_k_matvec", "avx512_vnni_rows16", "80b9207893b86669"},
    {"q5_k_matvec", "avx2_rows16_prefetch", "7e83d63783482422", kOpen},
    {"q6_k_matvec", "avx512_vnni_rows16_apart_prefetch", "a6b8abf48ad6b533", false,
     "amd-26-avx512_vnni"},
    {"q6_k_matvec", "avx512_vnni_rows16_pair_prefetch", "9d8821a88f125d3e", false, "intel-amx"},
    {"q6_k_matvec", "avx512_vnni_rows16_pair_prefetch", "85eb8b5b1577d355", kOpen},
    {"q6_k_matvec", "avx512_vnni_rows16_prefetch", "", kOpen},
    {"q6_k_matvec", "avx512_vnni_rows16", "6d2e167f24811375"},
    {"q6_k_matvec", "avx2_rows16_prefetch", "210288d169db638d", kOpen},
    {"q4_0_matmul", "avx512_vnni_rows16_q16", "091affaa56f3f224", kOpen},
    {"q4_0_matmul", "amx_int8_rows16_parts", "ff37aacd5fa74e13"},
    {"q4_0_matmul", "avx512_vnni_rows16_pair_apart", "8c3936572334ab10"},
    {"q4_0_matmul", "avx512_vnni_rows16_panels_pair", "08098fe9e3549f64"},
    {"q5_k_matmul", "avx512_vnni_rows16_panels_pair", "fb72ddf3c2bd2a5c"},
    {"q5_k_matmul", "avx512_vnni_rows16_panels", "fddb4743a147b928"},
    {"q5_k_matmul", "avx512_vnni_rows16", "c30dd9ffb46d2d7b", kOpen},
    {"q5_k_matmul", "amx_int8_rows16_parts", "3a1dc9bb6c88191f"},
    {"q6_k_matmul", "avx512_vnni_rows16_pair", "a61c9fb072194844"},
    {"q6_k_matmul", "avx512_vnni_rows16", "0c1a35d3de5424cf", kOpen},
    {"q6_k_matmul", "amx_int8_rows16_parts", "a7fa4bd7a0464fea"},
    {"q4_0_experts", "avx512_vnni_rows16_q16_pair_prefetch", "0127b1aabd6fb130", kOpen},
    {"q4_0_experts", "avx512_vnni_rows16_q16_prefetch", "5c5c4f8c1fa207d7", kOpen},
    {"q4_0_experts", "avx512_vnni_rows16_apart_prefetch", "e36d82ce100f6482", false,
     "amd-26-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16_pair_prefetch", "7b10a2a5d0e698d2", false, "intel-amx"},
    {"q4_0_experts", "avx512_vnni_rows16_pair_prefetch", "082b6f49c9de0436", kOpen,
     "amd-26-avx512_vnni"},
    {"q4_0_experts", "avx512_vnni_rows16", "1007c9ad2237221a"},
    {"q4_0_experts", "avx2_rows16_q16_prefetch", "ea5822cc1b2ae90b", kOpen},
    {"f32_matvec", "avx512", "80c3d1c88c202503", kOpen},
    {"f32_matvec", "avx2", "5445edea3f43e06e"},
    {"mla_attention", "avx512_all_heads_prefetch", "f49912e635864cde", kOpen},
    {"mla_attention", "avx512", "", kOpen},
    {"mla_attention", "avx2_all_heads", "28c653ce40260275", kOpen},
    {"mla_attention_i16", "avx512_vnni_ahead", "b451ec76782eeff4"},
    {"mla_attention_i16", "avx512_vnni_side_by_side", "274514dee3b7ec49"},
    {"mla_attention_i16", "avx512_vnni", "3212e719a3bf87e2", false, "amd-26-avx512_vnni"},
    {"mla_attention_i16", "avx512_vnni", "328b854c137d70d9", kOpen},
    {"mla_attention_i16", "avx2", "b90a70b01a5e65ca", kOpen},
    {"mla_attention_i8x2", "amx_int8", "32f87cad27fee341"},
    {"block_decode", "cuda_polled", "00ee60e092e94793", false, "NVIDIA H200"},
    {"block_decode", "cuda_polled", "b115004d57fa8a48", kOpen, "NVIDIA H100 80GB HBM3"},
    {"block_decode", "cuda_wide", "dd1a1c52c3a37c9b"},
    {"block_decode", "cuda_parts", "b80b0ec3de39df7f", kOpen},
    {"block_decode", "cuda_early", "7089d0f7757c67a3", kOpen},
    {"block_decode", "cuda_lean", "92b08549dc1d33f1", kOpen},  // its record names no kernel_*.cu
    {"quantize_q8", "avx512", "", kOpen},
    {"quantize_q16", "avx2", "03cb451bec00c94c"},
    {"moe_router", "avx512", "", kOpen},
    {"moe_router", "avx2", "a0acb77e808eb3cd"},
    {"rms_norm", "avx512", "", kOpen},
    {"rms_norm", "avx2", "056c7fb589cc79e5"},
    {"rope", "avx512", "", kOpen},
    {"rope", "avx2", "a73fefffaa971c62"},
    {"swiglu", "avx512", "", kOpen},
    {"swiglu", "avx2", "efbc3902bf7fa733"},
    {"add", "avx512", "", kOpen},
    {"add", "avx2", "b0e1fa7ee7e74a52"},
};

}  // namespace

std::span<const MeasuredCode> measured_code() { return kMeasured; }

const MeasuredCode* measured_code_of(const Champion& champion) {
    for (const MeasuredCode& one : kMeasured) {
        if (one.op != champion.op || one.variant != champion.variant) continue;
        if (one.decided_on.empty() || one.decided_on == champion.decided_on) return &one;
    }
    return nullptr;
}

Evidence evidence_of(const Champion& champion) {
    if (champion.journal.empty()) return Evidence::none;
    const MeasuredCode* code = measured_code_of(champion);
    if (code == nullptr) return Evidence::missing;
    if (code->hash.empty()) return Evidence::uncommitted;
    return code->hash == code_of(code->op, code->variant) ? Evidence::current : Evidence::changed;
}

const char* words_of(Evidence evidence) {
    switch (evidence) {
        case Evidence::none:
            return "no experiment asked";
        case Evidence::current:
            return "as measured";
        case Evidence::changed:
            return "open: the code changed since";
        case Evidence::uncommitted:
            return "open: measured code was not committed";
        case Evidence::missing:
            return "open: no line in champions_code.cpp";
    }
    return "";
}

}  // namespace steady
