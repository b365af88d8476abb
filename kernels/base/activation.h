// A vector of activations in the two forms in which matrix kernels take it. Quantising once per
// vector instead of once per matrix is why the caller owns both forms and a variant only says which
// of them it reads.
#pragma once

#include <cstdint>

namespace steady {

constexpr std::int64_t kActivationBlock = 32;

// n values (n a multiple of 32 when the q8 form is used). In q8, x[i] ≈ q8[i] * q8_scale[i / 32],
// with q8_scale = max|x| / 127 over the block and q8 in [-127, 127].
struct Activation {
    const float* f32 = nullptr;            // [n]
    const std::int8_t* q8 = nullptr;       // [n]
    const float* q8_scale = nullptr;       // [n / 32]
    const std::int32_t* q8_sum = nullptr;  // [n / 32]: sum of the block's int8 values
};

// Which form a variant reads; the other one may be null.
enum class Input { f32, q8 };

}  // namespace steady
