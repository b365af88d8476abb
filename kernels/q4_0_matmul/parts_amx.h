// The layout rows16 of Q4_0 (kernels/layouts/q4_0_rows16.h) for the loop of
// kernels/layouts/matmul_amx.h, with 8-bit or 16-bit activations.
#pragma once

#include "kernels/layouts/matmul_amx.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady::q4_0_matmul {

KERNEL_TARGET_BEGIN(KERNEL_AMX)

// kAhead: bytes of weights fetched ahead by software.
template <Input kForm, int kAhead>
struct Parts {
    static constexpr Type kType = Type::q4_0;
    static constexpr Input kInput = kForm;
    static constexpr std::int64_t kUnit = 32;
    static constexpr std::int64_t kUnitBytes = q4_0_rows16::kBlockBytes;
    static constexpr std::int64_t kFewest = 9;
    using Few = Dot<kForm, kForm == Input::q16 ? 6 : 8, kAhead>;
    using Sums = matmul_amx::SumsOf<kInput, kUnit>;

    static void few(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
        for (std::int64_t r = rows.begin; r < rows.end; r += matmul_rows16::kRows) {
            matmul_rows16::even_tiles<Few>(args, r, v, end);
        }
    }

    static void unpack(const std::byte* block, std::int64_t units, std::byte* bytes) {
        const __m512i nibble = _mm512_set1_epi8(15);
        const __m512i eight = _mm512_set1_epi8(8);  // is added to each quant
        for (std::int64_t u = 0; u < units; ++u) {
            fetch<kAhead, 5>(block);
            for (int j = 0; j < 4; ++j) {
                const __m512i w = avx512::load(block + 32 + 64 * j);
                const __m512i even = _mm512_and_si512(w, nibble);
                const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
                _mm512_store_si512(bytes + 64 * j, _mm512_sub_epi8(even, eight));
                _mm512_store_si512(bytes + 256 + 64 * j, _mm512_sub_epi8(odd, eight));
            }
            block += q4_0_rows16::kBlockBytes;
            bytes += matmul_amx::kRows * kUnit;
        }
    }

    static void add(const std::byte* packed, std::int64_t units, const Sums& sums,
                    const matmul_amx::Vectors& x, std::int64_t first,
                    float (&total)[matmul_amx::kVectors][matmul_amx::kRows]) {
        matmul_amx::add_blocks<Parts>(packed, units, sums, x, first, total);
    }
};

KERNEL_TARGET_END

}  // namespace steady::q4_0_matmul
