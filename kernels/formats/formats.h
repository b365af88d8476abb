// The number formats of GGUF weights: type numbers, block layouts byte for byte, and the exact
// value of every weight. This is the one place that knows the layouts in plain code; fast variants
// decode them on their own and are checked against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace steady {

// Values are the type numbers of GGUF.
enum class Type : std::uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    bf16 = 30,
};

constexpr Type kAllTypes[] = {Type::f32,  Type::f16,  Type::bf16, Type::q4_0,
                              Type::q4_1, Type::q5_0, Type::q5_1, Type::q8_0,
                              Type::q4_k, Type::q5_k, Type::q6_k};

// IEEE binary16 bits.
struct Half {
    std::uint16_t bits;
};

// 32 values each: x[j] in the low nibble of qs[j], x[j + 16] in the high one.
struct BlockQ4_0 {  // d * (q - 8)
    Half d;
    std::uint8_t qs[16];
};
struct BlockQ4_1 {  // d * q + m
    Half d, m;
    std::uint8_t qs[16];
};
struct BlockQ5_0 {  // d * (q - 16); bit j of qh is the fifth bit of x[j]
    Half d;
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};
struct BlockQ5_1 {  // d * q + m
    Half d, m;
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};
struct BlockQ8_0 {  // d * q
    Half d;
    std::int8_t qs[32];
};

// 256 values each, in 8 sub-blocks of 32: d * scale * q - dmin * min, scale and min of 6 bits
// packed into scales[12] (scale_min below). A chunk of 64 values takes 32 bytes of qs: the low
// nibbles are its first 32 values, the high nibbles its last 32.
struct BlockQ4_K {
    Half d, dmin;
    std::uint8_t scales[12];
    std::uint8_t qs[128];
};
struct BlockQ5_K {  // bit s of qh[l] is the fifth bit of value l of sub-block s
    Half d, dmin;
    std::uint8_t scales[12];
    std::uint8_t qh[32];
    std::uint8_t qs[128];
};
// 256 values in 16 sub-blocks of 16: d * scales * (q - 32). Each half of 128 values takes 64 bytes
// of ql (nibbles) and 32 bytes of qh (two bits for each of its four runs of 32 values).
struct BlockQ6_K {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    Half d;
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

float half_to_float(Half half);
Half float_to_half(float value);  // nearest, ties to even; overflow gives infinity

// The 6-bit scale and min of sub-block `index` (0..7) of a Q4_K or Q5_K block.
struct ScaleMin {
    std::uint8_t scale, min;
};
ScaleMin scale_min(const std::uint8_t* scales, int index);

// Known and readable by this engine.
std::optional<Type> type_from_number(std::uint32_t gguf_type);
std::optional<Type> type_from_name(std::string_view name);
std::string_view type_name(Type type);  // "q4_0"

std::int64_t block_values(Type type);  // values in one block; 1 for the float types
std::int64_t block_bytes(Type type);
std::int64_t row_bytes(Type type, std::int64_t cols);  // cols a multiple of block_values

// Writes the n values (a multiple of block_values) that start at `row`.
void dequantize(Type type, const std::byte* row, float* out, std::int64_t n) noexcept;

}  // namespace steady
