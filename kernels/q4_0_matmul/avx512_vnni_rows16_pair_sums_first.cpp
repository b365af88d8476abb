// As avx512_vnni_rows16_pair_apart, with what the 8 added to each quant makes of a block's sum
// worked out before, for 64 blocks of each vector at a time: a product of 126 less for each of a
// tile's six vectors. On Zen 4 products and floats share two of four units. Expected: 3 to 5 %
// faster there.
#include "kernels/layouts/matmul_panels.h"
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using q4_0_rows16::kBlockBytes, q4_0_rows16::kRows;

constexpr std::int64_t kChunk = 64;  // blocks
constexpr int kMost = 6;             // vectors of a tile
constexpr int kAhead = 4096;         // bytes of each half fetched ahead

// What Dot of rows16.h does for one group of rows, in the same order, for the groups at r[0] and
// r[1], with kN vectors from v on.
template <int kN>
inline void tile(const MatmulArgs& args, const std::int64_t (&r)[2], std::int64_t v) {
    const MatmulShape& shape = args.shape;
    const auto x = matmul_vectors<Input::q8, kN>(args, v);
    const std::int64_t n_blocks = shape.cols / 32;
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512 total[2][kN];
    for (auto& of_group : total) {
        for (__m512& t : of_group) t = _mm512_setzero_ps();
    }
    alignas(64) std::int32_t start[kN][kChunk];  // of the sums of each block
    for (std::int64_t from = 0; from < n_blocks; from += kChunk) {
        const std::int64_t to = std::min(from + kChunk, n_blocks);
        for (std::size_t i = 0; i < kN; ++i) {
            for (std::int64_t b = from; b < to; ++b) start[i][b - from] = -8 * x[i].sum[b];
        }
        for (std::int64_t b = from; b < to; ++b) {
            const std::byte* block[2];
            for (int g = 0; g < 2; ++g) {
                block[g] = args.w + r[g] * n_blocks * 18 + b * kBlockBytes;
                fetch<kAhead, 5>(block[g]);
            }
            __m512i sum[2][kN];
            for (std::size_t i = 0; i < kN; ++i) {
                sum[0][i] = sum[1][i] = _mm512_set1_epi32(start[i][b - from]);
            }
            for (int j = 0; j < 4; ++j) {
                __m512i even[2], odd[2];
                for (int g = 0; g < 2; ++g) {
                    const __m512i w = avx512::load(block[g] + 32 + 64 * j);
                    even[g] = _mm512_and_si512(w, nibble);
                    odd[g] = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
                }
                for (std::size_t i = 0; i < kN; ++i) {
                    const std::int8_t* at = x[i].q8 + 32 * b + 4 * j;
                    const __m512i first = avx512::broadcast4(at);
                    const __m512i second = avx512::broadcast4(at + 16);
                    for (int g = 0; g < 2; ++g) {
                        sum[g][i] = _mm512_dpbusd_epi32(sum[g][i], even[g], first);
                        sum[g][i] = _mm512_dpbusd_epi32(sum[g][i], odd[g], second);
                    }
                }
            }
            const __m512 d[2] = {avx512::halves(block[0]), avx512::halves(block[1])};
            for (std::size_t i = 0; i < kN; ++i) {
                const __m512 step = _mm512_set1_ps(x[i].scale[b]);
                for (int g = 0; g < 2; ++g) {
                    total[g][i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[g][i]),
                                                  _mm512_mul_ps(d[g], step), total[g][i]);
                }
            }
        }
    }
    for (int i = 0; i < kN; ++i) {
        float* y = args.y + args.y_row[v + i] * shape.rows;
        for (int g = 0; g < 2; ++g) _mm512_storeu_ps(y + r[g] % shape.rows, total[g][i]);
    }
}

// n vectors, of kN at most.
template <int kN = kMost>
inline void tile_of(const MatmulArgs& args, const std::int64_t (&r)[2], std::int64_t v,
                    std::int64_t n) {
    if constexpr (kN > 1) {
        if (n < kN) return tile_of<kN - 1>(args, r, v, n);
    }
    tile<kN>(args, r, v);
}

// Rows [begin, end) of one group of the batch meet its vectors [v, last).
inline void halves_of(const MatmulArgs& args, std::int64_t begin, std::int64_t end, std::int64_t v,
                      std::int64_t last) {
    const std::int64_t half = (end - begin) / 2;
    for (std::int64_t r = begin; r < begin + half; r += kRows) {
        const std::int64_t both[2] = {r, r + half};
        std::int64_t at = v;
        for (std::int64_t left = (last - v + kMost - 1) / kMost; left > 0; --left) {
            const std::int64_t n = (last - at + left - 1) / left;
            tile_of(args, both, at, n);
            at += n;
        }
    }
}

// Stretches and panels as in matmul_panels.h; where a group's vectors are one panel, its rows are
// one stretch.
void run(const MatmulArgs& args, Range range) noexcept {
    using matmul_panels::kPanelBytes, matmul_panels::kStretchBytes, matmul_panels::that_fit;
    const MatmulShape& shape = args.shape;
    const std::int64_t stretch =
        that_fit(kStretchBytes, row_bytes(Type::q4_0, shape.cols), 2 * kRows);
    const std::int64_t panel = that_fit(kPanelBytes, shape.cols, kMost);
    for (std::int64_t r = range.begin; r < range.end;) {
        const std::int64_t group = r / shape.rows;
        const std::int64_t first = args.first[group], last = args.first[group + 1];
        std::int64_t end = std::min(range.end, (group + 1) * shape.rows);
        if (last - first > panel) end = std::min(end, r + stretch);
        for (std::int64_t v = first; v < last; v += panel) {
            halves_of(args, r, end, v, std::min(v + panel, last));
        }
        r = end;
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16_pair_sums_first",
    packed_options<Q4_0Matmul, kRows>(cpu::avx512_vnni, Input::q8, q4_0_rows16::pack,
                                      in_whole_groups<MatmulShape, 2 * kRows>, run, 2 * kRows)};

}  // namespace steady
