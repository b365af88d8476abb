// What the attentions over caches of two bytes per value share: their shape, and how a part of a
// row or of a query becomes whole steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/registry/shape.h"

namespace steady {

struct MlaIntegerShape {
    std::int64_t n_heads = 0;
    std::int64_t kv_rank = 0;
    std::int64_t n_rot = 0;
    std::int64_t n_positions = 0;  // cached positions that are attended, this token's included
    static std::array<ShapeField<MlaIntegerShape>, 4> fields() {
        return {{{"n_heads", &MlaIntegerShape::n_heads},
                 {"kv_rank", &MlaIntegerShape::kv_rank},
                 {"n_rot", &MlaIntegerShape::n_rot},
                 {"n_positions", &MlaIntegerShape::n_positions}}};
    }
    std::string problem() const {
        return n_heads > 0 && kv_rank > 0 && n_rot > 0 && n_positions > 0
                   ? ""
                   : "n_heads, kv_rank, n_rot and n_positions are required";
    }
    std::int64_t width() const { return kv_rank + n_rot; }
};

namespace mla_integers {

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

// By division and to the nearest, at most `most` in size; zero without a step.
inline int whole_steps(float x, float step, int most) {
    if (!(step > 0)) return 0;
    const auto bound = static_cast<float>(most);
    const float steps = std::nearbyint(x / step);
    return static_cast<int>(steps > -bound ? std::min(steps, bound) : -bound);
}

}  // namespace mla_integers
}  // namespace steady
