// As avx512_vnni_ahead, with the softmax of all heads side by side (side_by_side.h).
// Expected: on Zen 4 with 2,048 positions 0.9 to 0.95 of the time, of which the softmax took a
// sixth.
#include "kernels/mla_attention_i16/side_by_side.h"
#include "kernels/simd/avx512.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using namespace mla_i16_tiles;

#define IN_REGISTERS [[gnu::always_inline]] static inline

struct Simd {
    using Ints = __m512i;
    using Floats = __m512;
    static constexpr int kLanes = 16, kPairs = 4, kVectors = 4;

    IN_REGISTERS Ints zero() { return _mm512_setzero_si512(); }
    IN_REGISTERS Ints all(int value) { return _mm512_set1_epi32(value); }
    IN_REGISTERS Floats all(float value) { return _mm512_set1_ps(value); }
    IN_REGISTERS Ints broadcast(__m128i quarter) { return _mm512_broadcast_i32x4(quarter); }
    IN_REGISTERS Ints load(const void* at) { return avx512::load(at); }
    IN_REGISTERS Ints shuffled(Ints bytes, Ints places) {
        return _mm512_shuffle_epi8(bytes, places);
    }
    // sum + the products of neighbours, two and two. As one piece, in place: by its intrinsic GCC
    // 12 copies the sums around each turn of a loop.
    IN_REGISTERS void add_products(Ints& sum, Ints a, Ints b) {
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    }
    // Sixteen sums as floats, and the upper eight added to the lower.
    IN_REGISTERS __m256 eight_floats(Ints sums) {
        const __m512 lanes = _mm512_cvtepi32_ps(sums);
        return _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
    }
    IN_REGISTERS Floats floats(Ints sums) { return _mm512_cvtepi32_ps(sums); }
    IN_REGISTERS Floats load_floats(const float* at) { return _mm512_loadu_ps(at); }
    IN_REGISTERS void store(float* at, Floats values) { _mm512_storeu_ps(at, values); }
    IN_REGISTERS Floats product(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    IN_REGISTERS Floats product_plus(Floats a, Floats b, Floats c) {
        return _mm512_fmadd_ps(a, b, c);
    }
};

#include "kernels/mla_attention_i16/loops.h"

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI16> variant{"avx512_vnni_side_by_side",
                                              {.needs = cpu::avx512_vnni,
                                               .supports = supports<16>,
                                               .run = side_by_side::run<Products16<Simd>>}};

}  // namespace steady
