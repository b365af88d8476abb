// A vector of activations in the two forms in which matrix kernels take it. Quantising once per
// vector instead of once per matrix is why the caller owns both forms and a variant only says which
// of them it reads.
#pragma once

#include <cstdint>
#include <string_view>

namespace steady {

constexpr std::int64_t kActivationBlock = 32;

// n values (n a multiple of 32 when the q8 form is used). In q8, x[i] ≈ q8[i] * q8_scale[i / 32],
// with q8_scale = max|x| / 127 over the block and q8 in [-127, 127].
struct Activation {
    const float* f32 = nullptr;            // [n]
    const std::int8_t* q8 = nullptr;       // [n]
    const float* q8_scale = nullptr;       // [n / 32]
    const std::int32_t* q8_sum = nullptr;  // [n / 32]: sum of the block's int8 values
    // q16 adds a second byte per value: x[i] ≈ (q8[i] + q8_low[i] / 256) * q8_scale[i / 32].
    const std::int8_t* q8_low = nullptr;    // [n]
    const std::int32_t* q16_sum = nullptr;  // [n / 32]: sum of the block's 256 * q8 + q8_low
};

// Which form a variant reads; the other one may be null.
// q16 costs twice the multiplications of q8, which a kernel that waits for memory has to spare, and
// rounds 256 times finer, which matters where an expert's choice hangs on a near-tie.
enum class Input { f32, q8, q16 };

constexpr std::string_view input_name(Input input) {
    return input == Input::f32 ? "f32" : input == Input::q8 ? "q8" : "q16";
}

}  // namespace steady
