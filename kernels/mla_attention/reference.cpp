// Three plain passes per head: scores, softmax, weighted sum; every sum in double.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/mla_attention/op.h"

namespace steady {
namespace {

float value(float x) { return x; }
float value(Half x) { return half_to_float(x); }
float value(Bfloat x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

template <class Value>
void attend(const MlaAttention::Args& args, Range range) noexcept {
    const Value* cache = args.rows<Value>();
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        const float* q = args.q + h * width;
        float* p = args.scratch + h * shape.n_positions;
        float largest = -INFINITY;
        for (std::int64_t t = 0; t < shape.n_positions; ++t) {
            double sum = 0;
            for (std::int64_t i = 0; i < width; ++i) {
                sum += static_cast<double>(q[i]) * static_cast<double>(value(cache[t * width + i]));
            }
            p[t] = static_cast<float>(sum * static_cast<double>(args.scale));
            largest = std::max(largest, p[t]);
        }
        double total = 0;
        for (std::int64_t t = 0; t < shape.n_positions; ++t) {
            const double weight =
                std::exp(static_cast<double>(p[t]) - static_cast<double>(largest));
            p[t] = static_cast<float>(weight);
            total += weight;
        }
        args.keep_sums(h, largest, static_cast<float>(total));
        for (std::int64_t i = 0; i < shape.kv_rank; ++i) {
            double sum = 0;
            for (std::int64_t t = 0; t < shape.n_positions; ++t) {
                sum += static_cast<double>(p[t]) * static_cast<double>(value(cache[t * width + i]));
            }
            args.out[h * shape.kv_rank + i] = static_cast<float>(sum / total);
        }
    }
}

void run(const MlaAttention::Args& args, Range range) noexcept {
    if (args.shape.cache == Type::f16) return attend<Half>(args, range);
    if (args.shape.cache == Type::bf16) return attend<Bfloat>(args, range);
    attend<float>(args, range);
}

}  // namespace

static const Variant<MlaAttention> variant{"reference", {.run = run}};

}  // namespace steady
