// One row at a time in the file's own layout: 64 quants per register, dot products by VNNI, the 32
// that is added to each quant taken off by sums of x made once per call. Expected: twice avx2;
// behind the packed layout by a horizontal sum and a scale decode per row.
#include "kernels/q6_k_matvec/op.h"
#include "kernels/simd/sums16.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

// The four sub-blocks' numbers of 64 values, each in the first lane (or all lanes) of its four.
[[gnu::always_inline]] inline __m512i minus_sums(const std::int32_t* four) {
    const __m512i places = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i all =
        _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(four)));
    return _mm512_maskz_permutexvar_epi32(0x1111, places, all);
}

[[gnu::always_inline]] inline __m512i scales_of(const std::int8_t* scales, int part) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales));
    const __m128i places = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const auto first = static_cast<char>(4 * part);
    return _mm512_cvtepi8_epi32(_mm_shuffle_epi8(all, _mm_add_epi8(places, _mm_set1_epi8(first))));
}

[[gnu::always_inline]] inline float dot(const std::byte* row, const std::int8_t* q8,
                                        const float* x_scale, const std::int32_t* minus,
                                        std::int64_t n_blocks) {
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i two_bits = _mm512_set1_epi8(3);
    // Runs 0 and 1 of a half block have their high bits at 0 and 2, runs 2 and 3 at 4 and 6.
    const __m512i by_half = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(2), 1);
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const auto& block = *reinterpret_cast<const BlockQ6_K*>(row + 210 * b);
        const __m512 factors = _mm512_castps256_ps512(_mm256_loadu_ps(x_scale + 8 * b));
        __m512 sum = _mm512_setzero_ps();
        for (int part = 0; part < 4; ++part) {  // 64 values each
            const __m512i bytes = avx512::load(block.ql + part / 2 * 64);
            const __m512i low =
                _mm512_and_si512(part % 2 == 0 ? bytes : _mm512_srli_epi16(bytes, 4), nibble);
            const __m512i both = _mm512_broadcast_i64x4(
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.qh + part / 2 * 32)));
            const __m512i shifts =
                _mm512_add_epi16(by_half, _mm512_set1_epi16(static_cast<short>(part % 2 * 4)));
            const __m512i high = _mm512_and_si512(_mm512_srlv_epi16(both, shifts), two_bits);
            const __m512i q = _mm512_or_si512(low, _mm512_slli_epi16(high, 4));
            const __m512i exact = _mm512_dpbusd_epi32(minus_sums(minus + 16 * b + 4 * part), q,
                                                      avx512::load(q8 + 256 * b + 64 * part));
            const __m512i scaled = _mm512_mullo_epi32(exact, scales_of(block.scales, part));
            const __m512i places =
                _mm512_add_epi32(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                                 _mm512_set1_epi32(2 * part));
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(scaled),
                                  _mm512_permutexvar_ps(places, factors), sum);
        }
        total = _mm512_fmadd_ps(_mm512_set1_ps(_cvtsh_ss(block.d.bits)), sum, total);
    }
    return avx512::sum(total);
}

void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    std::int32_t minus[sums16::kMaxCols / 16] = {};
    std::int64_t prepared = -1;  // the group whose sums are in `minus`
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t group = r / shape.rows;
        const std::int8_t* q8 = args.x.q8 + group * shape.cols;
        if (group != prepared) sums16::fill(q8, shape.cols, -32, minus);
        prepared = group;
        args.y[r] = dot(args.w + r * n_blocks * 210, q8, args.x.q8_scale + group * n_blocks * 8,
                        minus, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q6_KMatvec> variant{
    "avx512_vnni",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatvecShape& shape) { return shape.cols <= sums16::kMaxCols; },
        .input = Input::q8,
        .run = run,
    }};

}  // namespace steady
