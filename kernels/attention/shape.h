// The shape of one token's attention over a latent cache whose format has no choices of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/registry/shape.h"

namespace steady {

// kMultiple: what kv_rank and n_rot are multiples of.
template <int kMultiple>
struct LatentShape {
    std::int64_t n_heads = 0;
    std::int64_t kv_rank = 0;
    std::int64_t n_rot = 0;
    std::int64_t n_positions = 0;  // cached positions that are attended, this token's included
    static std::array<ShapeField<LatentShape>, 4> fields() {
        return {{{"n_heads", &LatentShape::n_heads},
                 {"kv_rank", &LatentShape::kv_rank},
                 {"n_rot", &LatentShape::n_rot},
                 {"n_positions", &LatentShape::n_positions}}};
    }
    std::string problem() const {
        if (kv_rank % kMultiple != 0 || n_rot % kMultiple != 0) {
            return "kv_rank and n_rot: multiples of " + std::to_string(kMultiple);
        }
        return n_heads > 0 && kv_rank > 0 && n_rot > 0 && n_positions > 0
                   ? ""
                   : "n_heads, kv_rank, n_rot and n_positions are required";
    }
    std::int64_t width() const { return kv_rank + n_rot; }
};

}  // namespace steady
