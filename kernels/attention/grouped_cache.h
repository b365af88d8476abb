// Caches of integers: the codec of a format, and what the engine must know of it to keep one. A
// format rounds each of a row's two parts (latent, rotary) to whole steps of a share of the part's
// largest value and keeps positions in groups. It is a struct with
//   kOp, kName            names of the op and of the format
//   Shape, Query          LatentShape<…>; const float*, or Activation where variants read q8 or q16
//   kGroup                positions of a group
//   kLargest              steps of a part's largest value
//   kValueBytes           bytes of a value
//   kWeightSteps          see AttentionOp; 0 where weights are never rounded
//   kRoundsQuery          whether every variant rounds a query as it does a row
//   kKeepsSums            see AttentionArgs
//   kScratchGroup         scores of a head are as many, rounded up to this
//   group_bytes(kv_rank, n_rot)
//   Place                 of a position's row: scale(part), and what get and put need
//   get(cache, place, c), put(cache, place, c, steps)
//   odd_shapes(random)
// and, where variants leave out the products of two low bytes, low(steps): the low byte.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace steady {

// Of a part x[n]: its largest value is `most` steps; no number if a value is none.
inline float step_of(const float* x, std::int64_t n, int most) {
    float largest = 0;
    float nothing = 0;  // but for what is no finite number
    for (std::int64_t i = 0; i < n; ++i) {
        largest = std::max(largest, std::fabs(x[i]));
        nothing += 0 * x[i];
    }
    return largest / static_cast<float>(most) + nothing;
}

// By division and to the nearest, at most `most` in size; zero without a step. Every variant rounds
// a query like this, so that none differs in a step.
inline int whole_steps(float x, float step, int most) {
    if (!(step > 0)) return 0;
    const auto bound = static_cast<float>(most);
    const float steps = std::nearbyint(x / step);
    return static_cast<int>(steps > -bound ? std::min(steps, bound) : -bound);
}

// A format as the engine meets it, which keeps such a cache without knowing what is in it.
struct CacheFormat {
    std::string_view name;
    std::int64_t group = 1;        // positions
    std::int64_t value_bytes = 0;  // without scales
    int largest = 0;               // steps of a part's largest value
    std::int64_t (*group_bytes)(std::int64_t kv_rank, std::int64_t n_rot) = nullptr;
    // Writes the row [kv_rank + n_rot] of one position.
    void (*store)(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
                  std::int64_t n_rot) = nullptr;
    // One position's row again at another, bit by bit.
    void (*copy)(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t kv_rank,
                 std::int64_t n_rot) = nullptr;
    // The value of column c at a position, exactly as stored.
    double (*value)(const std::byte* cache, std::int64_t position, std::int64_t c,
                    std::int64_t kv_rank, std::int64_t n_rot) = nullptr;

    std::int64_t bytes(std::int64_t kv_rank, std::int64_t n_rot, std::int64_t n_positions) const {
        return (n_positions + group - 1) / group * group_bytes(kv_rank, n_rot);
    }
};

template <class Format>
struct GroupedCodec : Format {
    using Place = typename Format::Place;
    using Shape = typename Format::Shape;
    using Format::get;
    using Format::kLargest;
    static constexpr bool kDropsLowBytes = requires { Format::low(0); };

    static std::int64_t group_bytes(const Shape& shape) {
        return Format::group_bytes(shape.kv_rank, shape.n_rot);
    }
    static void store(std::byte* cache, std::int64_t position, const float* row,
                      std::int64_t kv_rank, std::int64_t n_rot) {
        const Place place(position, kv_rank, n_rot);
        const float steps[2] = {step_of(row, kv_rank, kLargest),
                                step_of(row + kv_rank, n_rot, kLargest)};
        for (std::int64_t c = 0; c < kv_rank + n_rot; ++c) {
            const float step = steps[c < kv_rank ? 0 : 1];
            Format::put(cache, place, c, whole_steps(row[c], step, kLargest));
        }
        for (int part = 0; part < 2; ++part) {
            std::memcpy(cache + place.scale(part), &steps[part], sizeof steps[part]);
        }
    }
    static void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t kv_rank,
                     std::int64_t n_rot) {
        const Place source(from, kv_rank, n_rot);
        const Place target(to, kv_rank, n_rot);
        for (std::int64_t c = 0; c < kv_rank + n_rot; ++c) {
            Format::put(cache, target, c, get(cache, source, c));
        }
        for (int part = 0; part < 2; ++part) {
            std::memcpy(cache + target.scale(part), cache + source.scale(part), sizeof(float));
        }
    }
    static double value(const std::byte* cache, std::int64_t position, std::int64_t c,
                        std::int64_t kv_rank, std::int64_t n_rot) {
        const Place place(position, kv_rank, n_rot);
        return scale_at(cache, place, c < kv_rank ? 0 : 1) * get(cache, place, c);
    }

    // For AttentionOp: the parts of a row and of a query whose products make the score. Where
    // products of two low bytes are left out, a second half of columns takes them off.
    static void store(std::byte* cache, std::int64_t position, const float* row,
                      const Shape& shape) {
        store(cache, position, row, shape.kv_rank, shape.n_rot);
    }
    static double key(const std::byte* cache, std::int64_t position, std::int64_t column,
                      const Shape& shape) {
        const Place place(position, shape.kv_rank, shape.n_rot);
        const std::int64_t c = column % shape.width();
        const int steps = get(cache, place, c);
        return scale_at(cache, place, c < shape.kv_rank ? 0 : 1) *
               (column < shape.width() ? steps : low_of(steps));
    }
    static double scale(const std::byte* cache, std::int64_t position, const Shape& shape) {
        return scale_at(cache, Place(position, shape.kv_rank, shape.n_rot), 0);
    }
    // Of a position's latent values, for bounds.
    static int low_byte(const std::byte* cache, std::int64_t position, std::int64_t c,
                        const Shape& shape) {
        return low_of(get(cache, Place(position, shape.kv_rank, shape.n_rot), c));
    }
    static std::vector<double> query(const Shape& shape, const float* q) {
        if constexpr (!Format::kRoundsQuery) return std::vector<double>(q, q + shape.width());
        std::vector<double> values, lows;
        const float steps[2] = {step_of(q, shape.kv_rank, kLargest),
                                step_of(q + shape.kv_rank, shape.n_rot, kLargest)};
        for (std::int64_t c = 0; c < shape.width(); ++c) {
            const float step = steps[c < shape.kv_rank ? 0 : 1];
            const int whole = whole_steps(q[c], step, kLargest);
            values.push_back(static_cast<double>(step) * whole);
            lows.push_back(-static_cast<double>(step) * low_of(whole));
        }
        if (kDropsLowBytes) values.insert(values.end(), lows.begin(), lows.end());
        return values;
    }

private:
    static int low_of(int steps) {
        if constexpr (kDropsLowBytes) return Format::low(steps);
        return 0 * steps;
    }
    static double scale_at(const std::byte* cache, const Place& place, int part) {
        float scale = 0;
        std::memcpy(&scale, cache + place.scale(part), sizeof scale);
        return static_cast<double>(scale);
    }
};

template <class Codec>
inline constexpr CacheFormat kCacheFormat{
    .name = Codec::kName,
    .group = Codec::kGroup,
    .value_bytes = Codec::kValueBytes,
    .largest = Codec::kLargest,
    .group_bytes =
        [](std::int64_t kv_rank, std::int64_t n_rot) {
            return Codec::group_bytes({.kv_rank = kv_rank, .n_rot = n_rot});
        },
    .store = Codec::store,
    .copy = Codec::copy,
    .value = Codec::value};

}  // namespace steady
