// The tiles of AMX multiply bytes, and here the cache lies as their right factor. Sixteen positions
// meet up to sixteen heads in three products of bytes: high with high, high with low, low with
// high. For the weighted sum the bytes are turned, four positions to a column, while tiles
// multiply. Up to 32 heads share one reading of the cache; what the next positions need is fetched
// meanwhile. Expected: 1.5 times the AMX variant over 16-bit integers, which sorts bytes twice and
// has four products; then the cache's memory is the bound.
#include <cstring>

#include "kernels/mla_attention_i8x2/op.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady {
namespace {

using amx::Signs;
using mla_i8x2::kGroup;
using mla_i8x2::kPlane;

constexpr std::int64_t kHeads = 16;      // of a group, which share products
constexpr int kMostGroups = 2;           // of heads, which share a reading of the cache
constexpr std::int64_t kColumns = 64;    // that one product takes, or positions
constexpr std::int64_t kTile = 128;      // positions whose weights share a step
constexpr std::int64_t kMostSteps = 17;  // products of a row: 1024 latent columns, 64 rotary ones
constexpr std::int64_t kLine = 64;       // bytes

// Tiles: of either group of heads the sums of high with high bytes, of high with low and of low
// with high ones; the factors.
enum { kHigh, kHighLow, kLowHigh, kSums, kLeft = kMostGroups * kSums, kRight };

// Both bytes of a tile's numbers.
struct Planes {
    alignas(64) amx::Tile high, low;
};

// What is kept of neighbouring heads, one to a row.
struct Heads {
    // [step][high, low][n_rows][kColumns]: without gaps, so that a cache takes them all.
    alignas(64) std::byte queries[kMostSteps * 2 * sizeof(amx::Tile)];
    Planes weights[kTile / kColumns];  // [head][position]
    alignas(64) std::int32_t sums[kSums][kHeads][16];
    alignas(64) float scores[kHeads][kTile];  // then weights, times the positions' scales
    float query_steps[kHeads][2];             // latent, rotary; times 256 · the attention's scale
    float largest[kHeads], total[kHeads], shrink[kHeads], step[kHeads];
    float* out = nullptr;  // [n][kv_rank], unnormalised until the end
    std::int64_t n = 0, n_rows = 0;
    std::int64_t plane() const { return n_rows * amx::kRowBytes; }
    std::byte* query(std::int64_t at_step) { return queries + 2 * at_step * plane(); }
};

// Up to kTile positions, of which n are attended.
struct Tile {
    const std::byte* groups = nullptr;
    std::int64_t n = 0;
    std::int64_t kv_rank = 0, n_rot = 0;
    bool first = false;
    const std::byte* group(std::int64_t g) const {
        return groups + g * mla_i8x2::group_bytes(kv_rank, n_rot);
    }
    // Of a group's latent parts (part 0) or rotary ones (1).
    const float* scales(std::int64_t g, int part) const {
        return reinterpret_cast<const float*>(group(g + 1)) + (part - 2) * kGroup;
    }
    std::int64_t n_groups() const { return (n + kGroup - 1) / kGroup; }
    std::int64_t n_steps() const { return (n + kColumns - 1) / kColumns; }
};

// What lies behind the tile that is worked on, fetched a portion with each step of the products. It
// is fetched as several streams, each in pages of its own: of each the CPU fetches some lines more
// by itself, so that ours mostly find theirs on the way and soon leave the few buffers that the
// tiles' loads wait for. Measured: 280 us for 2048 cold positions where one stream takes 340.
struct Ahead {
    static constexpr std::int64_t kStreams = 4;
    const std::byte* at = nullptr;
    std::int64_t length = 0;   // of a stream, in bytes
    std::int64_t portion = 0;  // of a stream
    std::int64_t done = 0;
    Ahead(const std::byte* begin, std::int64_t bytes, std::int64_t steps)
        : at(begin), length(bytes / kStreams), portion((length / steps + kLine) / kLine * kLine) {}
    void fetch() {
        const std::int64_t stop = std::min(done + portion, length);
        for (; done < stop; done += kLine) {
            for (std::int64_t i = 0; i < kStreams; ++i) {
                _mm_prefetch(reinterpret_cast<const char*>(at + i * length + done), _MM_HINT_T1);
            }
        }
    }
};

KERNEL_TARGET_BEGIN(KERNEL_AMX)

template <int kOf>
[[gnu::always_inline]] inline void zero_sums() {
    amx::zero<kOf * kSums + kHigh>();
    amx::zero<kOf * kSums + kHighLow>();
    amx::zero<kOf * kSums + kLowHigh>();
}

template <int kOf>
[[gnu::always_inline]] inline void store_sums(Heads& heads) {
    amx::store<kOf * kSums + kHigh>(heads.sums[kHigh]);
    amx::store<kOf * kSums + kHighLow>(heads.sums[kHighLow]);
    amx::store<kOf * kSums + kLowHigh>(heads.sums[kLowHigh]);
}

// The products of one step of a group of heads, with the right factor's high bytes (kPlane 0) or
// its low ones.
template <int kOf, int kPlane>
[[gnu::always_inline]] inline void multiply(const void* high, const void* low) {
    amx::load<kLeft>(high);
    amx::dot<Signs::both, kOf * kSums + (kPlane == 0 ? kHigh : kHighLow), kLeft, kRight>();
    if (kPlane == 1) return;
    amx::load<kLeft>(low);
    amx::dot<Signs::both, kOf * kSums + kLowHigh, kLeft, kRight>();
}
template <int kOf, int kPlane>
[[gnu::always_inline]] inline void multiply_query(Heads& heads, std::int64_t step) {
    multiply<kOf, kPlane>(heads.query(step), heads.query(step) + heads.plane());
}
template <int kOf, int kPlane>
[[gnu::always_inline]] inline void multiply_weights(const Heads& heads, std::int64_t step) {
    multiply<kOf, kPlane>(heads.weights[step].high, heads.weights[step].low);
}

// Row h of the sums, in 256ths.
[[gnu::always_inline]] inline __m512 whole_sum(const Heads& heads, std::int64_t h) {
    const __m512i middle = _mm512_add_epi32(avx512::load(heads.sums[kHighLow][h]),
                                            avx512::load(heads.sums[kLowHigh][h]));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(avx512::load(heads.sums[kHigh][h])),
                           _mm512_set1_ps(256.0F), _mm512_cvtepi32_ps(middle));
}

// The lanes of n numbers, of sixteen at most.
[[gnu::always_inline]] inline __mmask16 first_lanes(std::int64_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xFFFF : (1 << n) - 1);
}

// Sixteen whole numbers of 16 bits as bytes.
[[gnu::always_inline]] inline void put(__m512i whole, std::byte* high, std::byte* low) {
    const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(whole, _mm512_set1_epi32(128)), 8);
    _mm_store_si128(reinterpret_cast<__m128i*>(high), _mm512_cvtepi32_epi8(upper));
    _mm_store_si128(reinterpret_cast<__m128i*>(low), _mm512_cvtepi32_epi8(whole));
}

// What step_of and whole_steps (grouped_cache.h) do to a part x[n] of head h's query, into the
// factors from `step` on.
float round_part(const float* x, std::int64_t n, std::int64_t h, std::int64_t step, Heads& heads) {
    __m512 most = _mm512_setzero_ps();
    __m512 nothing = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 16) {
        const __m512 values = _mm512_maskz_loadu_ps(first_lanes(n - i), x + i);
        most = _mm512_max_ps(most, _mm512_abs_ps(values));
        nothing = _mm512_fmadd_ps(_mm512_setzero_ps(), values, nothing);
    }
    const float size = _mm512_reduce_max_ps(most) / mla_i8x2::kLargest + avx512::sum(nothing);
    const __m512 divisor = _mm512_set1_ps(size > 0 ? size : 1.0F);
    const __m512i bound = _mm512_set1_epi32(mla_i8x2::kLargest);
    for (std::int64_t i = 0; i < n; i += 16) {
        const __m512 values = _mm512_maskz_loadu_ps(first_lanes(n - i), x + i);
        __m512i q = _mm512_cvtps_epi32(_mm512_div_ps(values, divisor));
        q = _mm512_max_epi32(_mm512_min_epi32(q, bound),
                             _mm512_sub_epi32(_mm512_setzero_si512(), bound));
        std::byte* to = heads.query(step + i / kColumns) + h * amx::kRowBytes + i % kColumns;
        put(q, to, to + heads.plane());
    }
    return size;
}

void prepare(const MlaAttentionI8x2::Args& args, std::int64_t first, Heads& heads) {
    const MlaI8x2Shape& shape = args.shape;
    const std::int64_t latent_steps = mla_i8x2::blocks(shape.kv_rank);
    const std::int64_t steps = latent_steps + mla_i8x2::blocks(shape.n_rot);
    std::memset(heads.queries, 0, static_cast<std::size_t>(2 * steps * heads.plane()));
    heads.out = args.out + first * shape.kv_rank;
    for (std::int64_t h = 0; h < heads.n; ++h) {
        const float* q = args.q + (first + h) * shape.width();
        const float factor = 256 * args.scale;
        heads.query_steps[h][0] = factor * round_part(q, shape.kv_rank, h, 0, heads);
        heads.query_steps[h][1] =
            factor * round_part(q + shape.kv_rank, shape.n_rot, h, latent_steps, heads);
        heads.largest[h] = -INFINITY;
        heads.total[h] = 0;
    }
}

// Puts the sums of a part of the group's positions into the scores.
void add_scores(Heads& heads, const Tile& tile, std::int64_t g, int part) {
    const __m512 scales = _mm512_loadu_ps(tile.scales(g, part));
    for (std::int64_t h = 0; h < heads.n; ++h) {
        float* scores = heads.scores[h] + g * kGroup;
        const __m512 before = part == 0 ? _mm512_setzero_ps() : _mm512_load_ps(scores);
        const __m512 factor = _mm512_mul_ps(scales, _mm512_set1_ps(heads.query_steps[h][part]));
        _mm512_store_ps(scores, _mm512_fmadd_ps(whole_sum(heads, h), factor, before));
    }
}

// The scores of one group's positions.
template <int kGroups>
void score_group(Heads* heads, const Tile& tile, std::int64_t g, Ahead& ahead) {
    const std::byte* block = tile.group(g);
    const std::int64_t ends[2] = {mla_i8x2::blocks(tile.kv_rank),
                                  mla_i8x2::blocks(tile.kv_rank) + mla_i8x2::blocks(tile.n_rot)};
    std::int64_t step = 0;
    for (int part = 0; part < 2; ++part) {
        zero_sums<0>();
        if constexpr (kGroups > 1) zero_sums<1>();
        for (; step < ends[part]; ++step, block += 2 * kPlane) {
            amx::load<kRight>(block);
            multiply_query<0, 0>(heads[0], step);
            if constexpr (kGroups > 1) multiply_query<1, 0>(heads[1], step);
            amx::load<kRight>(block + kPlane);
            multiply_query<0, 1>(heads[0], step);
            if constexpr (kGroups > 1) multiply_query<1, 1>(heads[1], step);
            ahead.fetch();
        }
        store_sums<0>(heads[0]);
        if constexpr (kGroups > 1) store_sums<1>(heads[1]);
        for (int i = 0; i < kGroups; ++i) add_scores(heads[i], tile, g, part);
    }
}

// A head's scores become weights, relative to the new maximum, times the positions' scales, and
// then whole steps of a 32639th of the largest.
void weigh(Heads& heads, std::int64_t h, const Tile& tile) {
    float* scores = heads.scores[h];
    __m512 tops = _mm512_set1_ps(heads.largest[h]);
    for (std::int64_t g = 0; g < tile.n_groups(); ++g) {
        const __m512 s = _mm512_load_ps(scores + g * kGroup);
        tops = _mm512_mask_max_ps(tops, first_lanes(tile.n - g * kGroup), tops, s);
    }
    const float top = _mm512_reduce_max_ps(tops);
    __m512 total = _mm512_setzero_ps();
    __m512 most = _mm512_setzero_ps();
    for (std::int64_t g = 0; g < tile.n_groups(); ++g) {
        const __m512 s = _mm512_load_ps(scores + g * kGroup);
        const __m512 weight = _mm512_maskz_mov_ps(
            first_lanes(tile.n - g * kGroup), avx512::exp(_mm512_sub_ps(s, _mm512_set1_ps(top))));
        const __m512 scaled = _mm512_maskz_mul_ps(first_lanes(tile.n - g * kGroup), weight,
                                                  _mm512_loadu_ps(tile.scales(g, 0)));
        total = _mm512_add_ps(total, weight);
        most = _mm512_max_ps(most, scaled);
        _mm512_store_ps(scores + g * kGroup, scaled);
    }
    heads.shrink[h] = tile.first ? 0.0F : std::exp(heads.largest[h] - top);
    heads.total[h] = heads.total[h] * heads.shrink[h] + avx512::sum(total);
    heads.largest[h] = top;
    const float largest = _mm512_reduce_max_ps(most);
    const bool any = largest > 1e-30F;  // what is less adds nothing, and has no reciprocal
    heads.step[h] = any ? 256 * (largest / mla_i8x2::kLargest) : 0.0F;
    const __m512 factor = _mm512_set1_ps(any ? mla_i8x2::kLargest / largest : 0.0F);
    for (std::int64_t g = 0; g < kTile / kGroup; ++g) {
        __m512i whole = _mm512_setzero_si512();
        if (g < tile.n_groups()) {
            whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_load_ps(scores + g * kGroup), factor));
            whole = _mm512_min_epi32(whole, _mm512_set1_epi32(mla_i8x2::kLargest));
        }
        Planes& to = heads.weights[g * kGroup / kColumns];
        put(whole, &to.high[h][g * kGroup % kColumns], &to.low[h][g * kGroup % kColumns]);
    }
}

// Sixteen columns of sixteen positions, [columns / 4][position][4], as [positions / 4][column][4].
[[gnu::always_inline]] inline void turn(const std::byte* from, std::byte (*to)[amx::kRowBytes]) {
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i a = avx512::load(from);
    const __m512i b = avx512::load(from + 64);
    const __m512i c = avx512::load(from + 128);
    const __m512i d = avx512::load(from + 192);
    const __m512i ab_low = _mm512_shuffle_i32x4(a, b, 0x44);
    const __m512i ab_high = _mm512_shuffle_i32x4(a, b, 0xEE);
    const __m512i cd_low = _mm512_shuffle_i32x4(c, d, 0x44);
    const __m512i cd_high = _mm512_shuffle_i32x4(c, d, 0xEE);
    const __m512i rows[4] = {
        _mm512_shuffle_i32x4(ab_low, cd_low, 0x88), _mm512_shuffle_i32x4(ab_low, cd_low, 0xDD),
        _mm512_shuffle_i32x4(ab_high, cd_high, 0x88), _mm512_shuffle_i32x4(ab_high, cd_high, 0xDD)};
    for (int i = 0; i < 4; ++i) {
        _mm512_store_si512(to[i], _mm512_shuffle_epi8(rows[i], order));
    }
}

// Sixteen columns from c on of the step's 64 positions, as the right factor.
inline void take_columns(const Tile& tile, std::int64_t step, std::int64_t c, Planes& values) {
    constexpr std::int64_t kGroups = kColumns / kGroup;
    const std::int64_t n = std::min(kGroups, tile.n_groups() - step * kGroups);
    for (std::int64_t g = 0; g < n; ++g) {
        const std::byte* from =
            tile.group(step * kGroups + g) + c / kColumns * 2 * kPlane + c % kColumns * kGroup;
        turn(from, values.high + 4 * g);
        turn(from + kPlane, values.low + 4 * g);
    }
}

// Puts the sums of sixteen columns into the outputs.
void add_outputs(Heads& heads, const Tile& tile, std::int64_t c) {
    const __mmask16 mask = first_lanes(tile.kv_rank - c);
    for (std::int64_t h = 0; h < heads.n; ++h) {
        float* out = heads.out + h * tile.kv_rank + c;
        __m512 before = _mm512_setzero_ps();
        if (!tile.first) {
            before =
                _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, out), _mm512_set1_ps(heads.shrink[h]));
        }
        const __m512 step = _mm512_set1_ps(heads.step[h]);
        _mm512_mask_storeu_ps(out, mask, _mm512_fmadd_ps(whole_sum(heads, h), step, before));
    }
}

// out[h] = out[h] · shrink[h] + Σ_t weight[h][t] · value[t].
template <int kGroups>
void add_values(Heads* heads, const Tile& tile, Ahead& ahead) {
    Planes values[2] = {};  // one is filled while the other is multiplied
    const std::int64_t n_steps = tile.n_steps();
    take_columns(tile, 0, 0, values[0]);
    int current = 0;
    for (std::int64_t c = 0; c < tile.kv_rank; c += 16) {
        zero_sums<0>();
        if constexpr (kGroups > 1) zero_sums<1>();
        for (std::int64_t step = 0; step < n_steps; ++step) {
            const bool last = step + 1 == n_steps;
            if (!last || c + 16 < tile.kv_rank) {
                take_columns(tile, last ? 0 : step + 1, last ? c + 16 : c, values[1 - current]);
            }
            amx::load<kRight>(values[current].high);
            multiply_weights<0, 0>(heads[0], step);
            if constexpr (kGroups > 1) multiply_weights<1, 0>(heads[1], step);
            amx::load<kRight>(values[current].low);
            multiply_weights<0, 1>(heads[0], step);
            if constexpr (kGroups > 1) multiply_weights<1, 1>(heads[1], step);
            ahead.fetch();
            current = 1 - current;
        }
        store_sums<0>(heads[0]);
        if constexpr (kGroups > 1) store_sums<1>(heads[1]);
        for (int i = 0; i < kGroups; ++i) add_outputs(heads[i], tile, c);
    }
}

// Groups of heads that follow one another, from `first` on.
template <int kGroups>
void attend(const MlaAttentionI8x2::Args& args, std::int64_t first, std::int64_t n_heads) {
    const MlaI8x2Shape& shape = args.shape;
    const std::int64_t group = mla_i8x2::group_bytes(shape.kv_rank, shape.n_rot);
    const std::int64_t beginning = (std::min(kTile, shape.n_positions) + kGroup - 1) / kGroup;
    Ahead(args.cache, beginning * group, 1).fetch();
    const std::int64_t n_rows = (n_heads + kGroups - 1) / kGroups;
    const amx::Tiles<1, 1> tiles(amx::kRowBytes, n_rows);
    Heads heads[kGroups];
    for (int i = 0; i < kGroups; ++i) {
        const std::int64_t begin = i * n_heads / kGroups;
        heads[i].n = (i + 1) * n_heads / kGroups - begin;
        heads[i].n_rows = n_rows;
        std::memset(heads[i].weights, 0, sizeof heads[i].weights);
        prepare(args, first + begin, heads[i]);
    }
    const std::int64_t steps =
        kTile / kGroup * (mla_i8x2::blocks(shape.kv_rank) + mla_i8x2::blocks(shape.n_rot)) +
        kTile / kColumns * ((shape.kv_rank + 15) / 16);
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const Tile tile{args.cache + t / kGroup * group, std::min(kTile, shape.n_positions - t),
                        shape.kv_rank, shape.n_rot, t == 0};
        const std::int64_t after = std::min(kTile, shape.n_positions - t - tile.n);
        Ahead ahead(tile.group(tile.n_groups()), (after + kGroup - 1) / kGroup * group, steps);
        for (std::int64_t g = 0; g < tile.n_groups(); ++g) {
            score_group<kGroups>(heads, tile, g, ahead);
        }
        for (Heads& each : heads) {
            for (std::int64_t h = 0; h < each.n; ++h) weigh(each, h, tile);
        }
        add_values<kGroups>(heads, tile, ahead);
    }
    for (std::int64_t h = 0; h < n_heads; ++h) {
        const Heads& of = heads[h < heads[0].n ? 0 : kGroups - 1];
        const std::int64_t at = h < heads[0].n ? h : h - heads[0].n;
        args.keep_sums(first + h, of.largest[at], of.total[at]);
        const __m512 factor = _mm512_set1_ps(1.0F / of.total[at]);
        float* out = args.out + (first + h) * shape.kv_rank;
        for (std::int64_t c = 0; c < shape.kv_rank; c += 16) {
            const __mmask16 mask = first_lanes(shape.kv_rank - c);
            _mm512_mask_storeu_ps(out + c, mask,
                                  _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, out + c), factor));
        }
    }
}

// As many passes as needed, of about the same number of heads.
void run(const MlaAttentionI8x2::Args& args, Range range) noexcept {
    const std::int64_t n_heads = range.end - range.begin;
    const std::int64_t passes = (n_heads + kMostGroups * kHeads - 1) / (kMostGroups * kHeads);
    for (std::int64_t i = 0; i < passes; ++i) {
        const std::int64_t first = i * n_heads / passes;
        const std::int64_t n = (i + 1) * n_heads / passes - first;
        if (n > kHeads) {
            attend<kMostGroups>(args, range.begin + first, n);
        } else {
            attend<1>(args, range.begin + first, n);
        }
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI8x2> variant{
    "amx_int8",
    {.needs = cpu::amx,
     .supports =
         [](const MlaI8x2Shape& shape) {
             return mla_i8x2::blocks(shape.kv_rank) + mla_i8x2::blocks(shape.n_rot) <= kMostSteps;
         },
     .run = run}};

}  // namespace steady
