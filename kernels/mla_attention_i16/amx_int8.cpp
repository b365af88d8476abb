// The tiles of AMX multiply bytes, and an integer of the cache is two of them: a high byte with a
// sign and a low one without. Sixteen positions meet up to sixteen heads in four products of bytes,
// which are exact and put together as floats. In the softmax a lane is a head.
// Expected: three times avx512_vnni alone, then the cache's memory is the bound.
#include <algorithm>
#include <cstring>

#include "kernels/mla_attention_i16/op.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady {
namespace {

using amx::Signs;

constexpr std::int64_t kHeads = 16;    // that share a pass
constexpr std::int64_t kTile = 64;     // positions whose weights share a step
constexpr std::int64_t kColumns = 64;  // that one product takes
constexpr std::int64_t kGroup = mla_i16::kGroup;
constexpr std::int64_t kMaxWidth = 960;  // so that whole_sum's integers fit 32 bits
constexpr std::int64_t kMaxSteps = kMaxWidth / kColumns + 1;

// Tiles: the sums of high with high bytes, of high with low and of low with low ones; the factors.
enum { kHighSum, kMiddleSum, kLowSum, kLeftHigh = 4, kLeftLow, kRightHigh, kRightLow };

// Both bytes of a tile's numbers.
struct Bytes {
    alignas(64) amx::Tile high, low;
};

// What is kept of up to kHeads neighbouring heads, one to a lane.
struct Heads {
    Bytes queries[kMaxSteps];  // [column / 4][head][4]; zero where no head or column is
    Bytes weights;             // [head][position]
    Bytes values;              // the factor that comes from the cache
    alignas(64) std::int32_t sums[3][16][16];
    alignas(64) float query_steps[2][16];  // latent, rotary; times the attention's scale
    alignas(64) float scores[kTile][16];   // then weights, times the positions' scales
    alignas(64) float largest[16], total[16], shrink[16], step[16];
    float* out = nullptr;  // [n][kv_rank], unnormalised until the end
    std::int64_t n = 0;
};

// Up to four groups of positions, of which n are attended.
struct Tile {
    const std::byte* groups = nullptr;
    std::int64_t n = 0;
    std::int64_t width = 0, kv_rank = 0;
    bool first = false;
    const std::byte* group(std::int64_t g) const {
        return groups + g * mla_i16::group_bytes(width);
    }
    std::int64_t n_groups() const { return (n + kGroup - 1) / kGroup; }
};

// Which bytes of two registers of positions' pairs make a row of a tile: the low (0) or the high
// ones (1).
struct Places {
    alignas(64) std::uint8_t at[64] = {};
};
// 32 columns of the one position, then of the other.
constexpr Places positions_apart(int byte) {
    Places places;
    for (int i = 0; i < 32; ++i) {
        places.at[i] = static_cast<std::uint8_t>(4 * i + byte);
        places.at[32 + i] = static_cast<std::uint8_t>(4 * i + 2 + byte);
    }
    return places;
}
// Sixteen columns, of each the pairs' four positions.
constexpr Places positions_together(int byte) {
    Places places;
    for (int i = 0; i < 64; ++i) {
        places.at[i] = static_cast<std::uint8_t>(i % 4 / 2 * 64 + i / 4 * 4 + i % 2 * 2 + byte);
    }
    return places;
}
constexpr Places kApart[2] = {positions_apart(0), positions_apart(1)};
constexpr Places kTogether[2] = {positions_together(0), positions_together(1)};

void zero_sums() {
    amx::zero<kHighSum>();
    amx::zero<kMiddleSum>();
    amx::zero<kLowSum>();
}

void store_sums(Heads& heads) {
    amx::store<kHighSum>(heads.sums[0]);
    amx::store<kMiddleSum>(heads.sums[1]);
    amx::store<kLowSum>(heads.sums[2]);
}

KERNEL_TARGET_BEGIN(KERNEL_AMX)

// Row i of the products, put together: exact but for the last roundings.
[[gnu::always_inline]] inline __m512 whole_sum(const Heads& heads, std::int64_t i) {
    const __m512i high = avx512::load(heads.sums[0][i]);
    const __m512i middle = avx512::load(heads.sums[1][i]);
    const __m512i rest =
        _mm512_add_epi32(_mm512_slli_epi32(middle, 8), avx512::load(heads.sums[2][i]));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(65536.0F),
                           _mm512_cvtepi32_ps(rest));
}

// What step_of and whole_steps (grouped_cache.h) do to a part x[n] of head h's query, n a multiple
// of 16, into the tiles from `queries` on.
float round_part(const float* x, std::int64_t n, std::int64_t h, Bytes* queries) {
    __m512 most = _mm512_setzero_ps();
    __m512 nothing = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 16) {
        const __m512 values = _mm512_loadu_ps(x + i);
        most = _mm512_max_ps(most, _mm512_abs_ps(values));
        nothing = _mm512_fmadd_ps(_mm512_setzero_ps(), values, nothing);
    }
    const float step = _mm512_reduce_max_ps(most) / mla_i16::kLargest + avx512::sum(nothing);
    const __m512 divisor = _mm512_set1_ps(step > 0 ? step : 1.0F);
    const __m512i bound = _mm512_set1_epi32(mla_i16::kLargest);
    for (std::int64_t i = 0; i < n; i += 16) {
        __m512i q = _mm512_cvtps_epi32(_mm512_div_ps(_mm512_loadu_ps(x + i), divisor));
        q = _mm512_max_epi32(_mm512_min_epi32(q, bound),
                             _mm512_sub_epi32(_mm512_setzero_si512(), bound));
        alignas(16) std::byte high[16], low[16];
        _mm_store_si128(reinterpret_cast<__m128i*>(high),
                        _mm512_cvtepi32_epi8(_mm512_srai_epi32(q, 8)));
        _mm_store_si128(reinterpret_cast<__m128i*>(low), _mm512_cvtepi32_epi8(q));
        Bytes& to = queries[i / kColumns];
        for (std::int64_t k = 0; k < 4; ++k) {
            const std::int64_t row = i % kColumns / 4 + k;
            std::memcpy(&to.high[row][4 * h], high + 4 * k, 4);
            std::memcpy(&to.low[row][4 * h], low + 4 * k, 4);
        }
    }
    return step;
}

void prepare(const MlaAttentionI16::Args& args, std::int64_t first, Heads& heads) {
    const MlaI16Shape& shape = args.shape;
    std::memset(heads.queries, 0, sizeof heads.queries);
    std::memset(&heads.values, 0, sizeof heads.values);
    for (std::int64_t h = 0; h < kHeads; ++h) {
        heads.query_steps[0][h] = heads.query_steps[1][h] = 0;
        heads.largest[h] = -INFINITY;
        heads.total[h] = 0;
    }
    Bytes* rotary = heads.queries + (shape.kv_rank + kColumns - 1) / kColumns;
    for (std::int64_t h = 0; h < heads.n; ++h) {
        const float* q = args.q + (first + h) * shape.width();
        heads.query_steps[0][h] = args.scale * round_part(q, shape.kv_rank, h, heads.queries);
        heads.query_steps[1][h] =
            args.scale * round_part(q + shape.kv_rank, shape.n_rot, h, rotary);
    }
}

// A position's half of a register into its row, the other one's into the next.
[[gnu::always_inline]] inline void put(__m512i both, std::byte* row) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(row), _mm512_castsi512_si256(both));
    _mm256_store_si256(reinterpret_cast<__m256i*>(row + amx::kRowBytes),
                       _mm512_extracti64x4_epi64(both, 1));
}

// Columns [c, c + n) of a group's positions, n at most kColumns, as rows of bytes. What the next
// tile has in their place is fetched meanwhile.
inline void take_rows(const std::byte* group, std::int64_t width, std::int64_t c, std::int64_t n,
                      Bytes& rows) {
    const __m512i high = avx512::load(kApart[1].at);
    const __m512i low = avx512::load(kApart[0].at);
    const std::byte* at = group + 4 * c;
    const std::byte* ahead = at + kTile / kGroup * mla_i16::group_bytes(width);
    for (std::int64_t p = 0; p < kGroup; p += 2, at += 4 * width, ahead += 4 * width) {
        for (std::int64_t i = 0; i < n; i += 32) {
            _mm_prefetch(reinterpret_cast<const char*>(ahead + 4 * i), _MM_HINT_T1);
            _mm_prefetch(reinterpret_cast<const char*>(ahead + 4 * i + 64), _MM_HINT_T1);
            const __m512i a = avx512::load(at + 4 * i);
            const __m512i b = i + 16 < n ? avx512::load(at + 4 * i + 64) : _mm512_setzero_si512();
            const __m512i highs = _mm512_permutex2var_epi8(a, high, b);
            const __m512i lows = _mm512_permutex2var_epi8(a, low, b);
            put(highs, &rows.high[p][i]);
            put(lows, &rows.low[p][i]);
        }
    }
}

// The scores of one group's positions.
void score_group(Heads& heads, const Tile& tile, std::int64_t g) {
    const std::byte* group = tile.group(g);
    const float* scales = mla_i16::scales(group, tile.width);
    const std::int64_t n = std::min(kGroup, tile.n - g * kGroup);
    const std::int64_t ends[2] = {tile.kv_rank, tile.width};
    const Bytes* query = heads.queries;
    std::int64_t c = 0;
    for (int part = 0; part < 2; ++part) {
        zero_sums();
        for (; c < ends[part]; c = std::min(c + kColumns, ends[part]), ++query) {
            take_rows(group, tile.width, c, std::min(kColumns, ends[part] - c), heads.values);
            amx::load<kLeftHigh>(heads.values.high);
            amx::load<kLeftLow>(heads.values.low);
            amx::load<kRightHigh>(query->high);
            amx::load<kRightLow>(query->low);
            amx::dot<Signs::both, kHighSum, kLeftHigh, kRightHigh>();
            amx::dot<Signs::left, kMiddleSum, kLeftHigh, kRightLow>();
            amx::dot<Signs::none, kLowSum, kLeftLow, kRightLow>();
            amx::dot<Signs::right, kMiddleSum, kLeftLow, kRightHigh>();
        }
        store_sums(heads);
        const __m512 step = _mm512_load_ps(heads.query_steps[part]);
        for (std::int64_t i = 0; i < n; ++i) {
            float* score = heads.scores[g * kGroup + i];
            const __m512 before = part == 0 ? _mm512_setzero_ps() : _mm512_load_ps(score);
            const __m512 factor = _mm512_mul_ps(step, _mm512_set1_ps(scales[part * kGroup + i]));
            _mm512_store_ps(score, _mm512_fmadd_ps(whole_sum(heads, i), factor, before));
        }
    }
}

// The scores become weights, relative to the new maximum, times the positions' scales.
__m512 to_weights(Heads& heads, const Tile& tile) {
    const __m512 before = _mm512_load_ps(heads.largest);
    __m512 top = before;
    for (std::int64_t t = 0; t < tile.n; ++t) {
        top = _mm512_max_ps(top, _mm512_load_ps(heads.scores[t]));
    }
    __m512 shrink = _mm512_setzero_ps();
    if (!tile.first) shrink = avx512::exp(_mm512_sub_ps(before, top));
    __m512 total = _mm512_mul_ps(_mm512_load_ps(heads.total), shrink);
    __m512 most = _mm512_setzero_ps();
    for (std::int64_t t = 0; t < tile.n; ++t) {
        const float* scales = mla_i16::scales(tile.group(t / kGroup), tile.width);
        const __m512 weight = avx512::exp(_mm512_sub_ps(_mm512_load_ps(heads.scores[t]), top));
        const __m512 scaled = _mm512_mul_ps(weight, _mm512_set1_ps(scales[t % kGroup]));
        total = _mm512_add_ps(total, weight);
        most = _mm512_max_ps(most, scaled);
        _mm512_store_ps(heads.scores[t], scaled);
    }
    _mm512_store_ps(heads.largest, top);
    _mm512_store_ps(heads.total, total);
    _mm512_store_ps(heads.shrink, shrink);
    return most;
}

// The weights in whole steps of a 16383rd of the largest, `most`, as bytes.
void weigh(Heads& heads, const Tile& tile, __m512 most) {
    // What is less adds nothing, and has no reciprocal.
    const __mmask16 any = _mm512_cmp_ps_mask(most, _mm512_set1_ps(1e-30F), _CMP_GT_OQ);
    const __m512 largest = _mm512_set1_ps(mla_i16::kLargestWeight);
    _mm512_store_ps(heads.step, _mm512_maskz_div_ps(any, most, largest));
    const __m512 factor = _mm512_maskz_div_ps(any, largest, most);
    const __m512i byte = _mm512_set1_epi32(255);
    const __m512i rows =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(amx::kRowBytes));
    for (std::int64_t t = 0; t < kTile; t += 4) {
        __m512i high = _mm512_setzero_si512();
        __m512i low = _mm512_setzero_si512();
        for (std::int64_t i = 0; i < 4 && t + i < tile.n; ++i) {
            const __m512 scaled = _mm512_mul_ps(_mm512_load_ps(heads.scores[t + i]), factor);
            const __m512i weight = _mm512_min_epi32(_mm512_cvtps_epi32(scaled),
                                                    _mm512_set1_epi32(mla_i16::kLargestWeight));
            const __m128i shift = _mm_cvtsi64_si128(8 * i);
            const __m512i upper = _mm512_and_si512(_mm512_srai_epi32(weight, 8), byte);
            const __m512i lower = _mm512_and_si512(weight, byte);
            high = _mm512_or_si512(high, _mm512_sll_epi32(upper, shift));
            low = _mm512_or_si512(low, _mm512_sll_epi32(lower, shift));
        }
        _mm512_i32scatter_epi32(&heads.weights.high[0][t], rows, high, 1);
        _mm512_i32scatter_epi32(&heads.weights.low[0][t], rows, low, 1);
    }
}

// Sixteen columns of the tile's positions, four positions to a row of bytes.
inline void take_columns(const Tile& tile, std::int64_t c, Bytes& columns) {
    const __m512i high = avx512::load(kTogether[1].at);
    const __m512i low = avx512::load(kTogether[0].at);
    for (std::int64_t g = 0; g < tile.n_groups(); ++g) {
        const std::byte* at = tile.group(g) + 4 * c;
        for (std::int64_t i = 0; i < kGroup / 4; ++i, at += 8 * tile.width) {
            const __m512i a = avx512::load(at);
            const __m512i b = avx512::load(at + 4 * tile.width);
            const std::int64_t row = g * kGroup / 4 + i;
            _mm512_store_si512(columns.high[row], _mm512_permutex2var_epi8(a, high, b));
            _mm512_store_si512(columns.low[row], _mm512_permutex2var_epi8(a, low, b));
        }
    }
}

// out[h] = out[h] · shrink[h] + Σ_t weight[h][t] · value[t].
void add_values(Heads& heads, const Tile& tile) {
    amx::load<kLeftHigh>(heads.weights.high);
    amx::load<kLeftLow>(heads.weights.low);
    for (std::int64_t c = 0; c < tile.kv_rank; c += 16) {
        take_columns(tile, c, heads.values);
        zero_sums();
        amx::load<kRightHigh>(heads.values.high);
        amx::load<kRightLow>(heads.values.low);
        amx::dot<Signs::right, kHighSum, kLeftHigh, kRightHigh>();
        amx::dot<Signs::none, kMiddleSum, kLeftHigh, kRightLow>();
        amx::dot<Signs::none, kLowSum, kLeftLow, kRightLow>();
        amx::dot<Signs::right, kMiddleSum, kLeftLow, kRightHigh>();
        store_sums(heads);
        for (std::int64_t h = 0; h < heads.n; ++h) {
            float* at = heads.out + h * tile.kv_rank + c;
            __m512 before = _mm512_setzero_ps();
            if (!tile.first) {
                before = _mm512_mul_ps(_mm512_loadu_ps(at), _mm512_set1_ps(heads.shrink[h]));
            }
            const __m512 step = _mm512_set1_ps(heads.step[h]);
            _mm512_storeu_ps(at, _mm512_fmadd_ps(whole_sum(heads, h), step, before));
        }
    }
}

// At most kHeads heads from `first` on.
void attend_together(const MlaAttentionI16::Args& args, std::int64_t first, std::int64_t n_heads) {
    const MlaI16Shape& shape = args.shape;
    Heads heads;
    heads.n = n_heads;
    heads.out = args.out + first * shape.kv_rank;
    prepare(args, first, heads);
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const Tile tile{args.cache + t / kGroup * mla_i16::group_bytes(shape.width()),
                        std::min(kTile, shape.n_positions - t), shape.width(), shape.kv_rank,
                        t == 0};
        for (std::int64_t g = 0; g < tile.n_groups(); ++g) score_group(heads, tile, g);
        weigh(heads, tile, to_weights(heads, tile));
        add_values(heads, tile);
    }
    for (std::int64_t h = 0; h < n_heads; ++h) {
        const __m512 factor = _mm512_set1_ps(1.0F / heads.total[h]);
        float* out = heads.out + h * shape.kv_rank;
        for (std::int64_t c = 0; c < shape.kv_rank; c += 16) {
            _mm512_storeu_ps(out + c, _mm512_mul_ps(_mm512_loadu_ps(out + c), factor));
        }
    }
}

// As many passes as needed, of about the same number of heads.
void run(const MlaAttentionI16::Args& args, Range range) noexcept {
    const amx::Tiles<2, 2> tiles;
    const std::int64_t n_heads = range.end - range.begin;
    const std::int64_t passes = (n_heads + kHeads - 1) / kHeads;
    for (std::int64_t i = 0; i < passes; ++i) {
        const std::int64_t first = i * n_heads / passes;
        attend_together(args, range.begin + first, (i + 1) * n_heads / passes - first);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI16> variant{
    "amx_int8",
    {.needs = cpu::amx,
     .supports =
         [](const MlaI16Shape& shape) {
             return shape.kv_rank % 16 == 0 && shape.n_rot % 16 == 0 && shape.width() <= kMaxWidth;
         },
     .run = run}};

}  // namespace steady
