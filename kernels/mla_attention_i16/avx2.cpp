// A tile of 32 positions at a time, for all heads of a thread: 16-bit products, of two positions to
// a register and five heads at once.
// Expected: twice mla_attention's avx2_all_heads at depth, since a register holds sixteen products
// where it holds eight of floats, and the cache is half as long.
#include "kernels/mla_attention_i16/tiles.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

using namespace mla_i16_tiles;

#define IN_REGISTERS [[gnu::always_inline]] static inline

struct Simd {
    using Ints = __m256i;
    using Floats = __m256;
    static constexpr int kLanes = 8, kPairs = 2, kVectors = 2;

    IN_REGISTERS Ints zero() { return _mm256_setzero_si256(); }
    IN_REGISTERS Ints all(int value) { return _mm256_set1_epi32(value); }
    IN_REGISTERS Floats all(float value) { return _mm256_set1_ps(value); }
    IN_REGISTERS Ints broadcast(__m128i quarter) { return _mm256_broadcastsi128_si256(quarter); }
    IN_REGISTERS Ints load(const void* at) { return avx2::load(at); }
    IN_REGISTERS Ints shuffled(Ints bytes, Ints places) {
        return _mm256_shuffle_epi8(bytes, places);
    }
    // sum + the products of neighbours, two and two. As one piece: left to order them itself, GCC
    // 12 begins all products of a loop before the first sum and has no registers left for the sums.
    IN_REGISTERS void add_products(Ints& sum, Ints a, Ints b) {
        Ints products;
        asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sum), "=&x"(products)
            : "x"(a), "x"(b));
    }
    IN_REGISTERS __m256 eight_floats(Ints sums) { return _mm256_cvtepi32_ps(sums); }
    IN_REGISTERS Floats floats(Ints sums) { return _mm256_cvtepi32_ps(sums); }
    IN_REGISTERS Floats load_floats(const float* at) { return _mm256_loadu_ps(at); }
    IN_REGISTERS void store(float* at, Floats values) { _mm256_storeu_ps(at, values); }
    IN_REGISTERS Floats product(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
    IN_REGISTERS Floats product_plus(Floats a, Floats b, Floats c) {
        return _mm256_fmadd_ps(a, b, c);
    }
};

#include "kernels/mla_attention_i16/loops.h"

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI16> variant{
    "avx2", {.needs = cpu::avx2, .supports = supports<8>, .run = run<Products16<Simd>>}};

}  // namespace steady
