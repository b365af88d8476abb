// Exact, plain decoding of every weight format. Multiplications are done in the order in which the
// formats define them (d * scale first), so that values agree bit for bit with other GGUF readers.
#include "kernels/formats/formats.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace steady {
namespace {

struct TypeFacts {
    Type type;
    std::string_view name;
    std::int64_t values, bytes;
};
constexpr TypeFacts kFacts[] = {
    {Type::f32, "f32", 1, 4},       {Type::f16, "f16", 1, 2},       {Type::bf16, "bf16", 1, 2},
    {Type::q4_0, "q4_0", 32, 18},   {Type::q4_1, "q4_1", 32, 20},   {Type::q5_0, "q5_0", 32, 22},
    {Type::q5_1, "q5_1", 32, 24},   {Type::q8_0, "q8_0", 32, 34},   {Type::q4_k, "q4_k", 256, 144},
    {Type::q5_k, "q5_k", 256, 176}, {Type::q6_k, "q6_k", 256, 210},
};

const TypeFacts& facts(Type type) {
    for (const TypeFacts& candidate : kFacts) {
        if (candidate.type == type) return candidate;
    }
    return kFacts[0];  // unreachable: Type has no other values
}

void block(const BlockQ4_0& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>((b.qs[j] & 15) - 8);
        out[j + 16] = d * static_cast<float>((b.qs[j] >> 4) - 8);
    }
}

void block(const BlockQ4_1& b, float* out) {
    const float d = half_to_float(b.d);
    const float m = half_to_float(b.m);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(b.qs[j] & 15) + m;
        out[j + 16] = d * static_cast<float>(b.qs[j] >> 4) + m;
    }
}

// The 5-bit number at position j (0..31) of a Q5_0 or Q5_1 block.
int five_bits(const std::uint8_t* qh, const std::uint8_t* qs, int j) {
    const int low = j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;
    const int high = (qh[j / 8] >> (j % 8)) & 1;
    return low | high << 4;
}

void block(const BlockQ5_0& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(five_bits(b.qh, b.qs, j) - 16);
}

void block(const BlockQ5_1& b, float* out) {
    const float d = half_to_float(b.d);
    const float m = half_to_float(b.m);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(five_bits(b.qh, b.qs, j)) + m;
}

void block(const BlockQ8_0& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(b.qs[j]);
}

void block(const BlockQ4_K& b, float* out) {
    const float d = half_to_float(b.d);
    const float dmin = half_to_float(b.dmin);
    for (int sub = 0; sub < 8; ++sub) {
        const ScaleMin sm = scale_min(b.scales, sub);
        const float scale = d * static_cast<float>(sm.scale);
        const float min = dmin * static_cast<float>(sm.min);
        for (int l = 0; l < 32; ++l) {
            const std::uint8_t byte = b.qs[sub / 2 * 32 + l];
            const int q = sub % 2 == 0 ? byte & 15 : byte >> 4;
            out[sub * 32 + l] = scale * static_cast<float>(q) - min;
        }
    }
}

void block(const BlockQ5_K& b, float* out) {
    const float d = half_to_float(b.d);
    const float dmin = half_to_float(b.dmin);
    for (int sub = 0; sub < 8; ++sub) {
        const ScaleMin sm = scale_min(b.scales, sub);
        const float scale = d * static_cast<float>(sm.scale);
        const float min = dmin * static_cast<float>(sm.min);
        for (int l = 0; l < 32; ++l) {
            const std::uint8_t byte = b.qs[sub / 2 * 32 + l];
            const int low = sub % 2 == 0 ? byte & 15 : byte >> 4;
            const int high = (b.qh[l] >> sub) & 1;
            out[sub * 32 + l] = scale * static_cast<float>(low | high << 4) - min;
        }
    }
}

void block(const BlockQ6_K& b, float* out) {
    const float d = half_to_float(b.d);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128;
        const int run = i % 128 / 32;  // which of the half's four runs of 32 values
        const int l = i % 32;
        const std::uint8_t byte = b.ql[half * 64 + run % 2 * 32 + l];
        const int low = run < 2 ? byte & 15 : byte >> 4;
        const int high = (b.qh[half * 32 + l] >> (2 * run)) & 3;
        const int sub = i / 16;
        const float scale = d * static_cast<float>(b.scales[sub]);
        out[i] = scale * static_cast<float>((low | high << 4) - 32);
    }
}

template <class Block>
void blocks(const std::byte* row, float* out, std::int64_t n, std::int64_t values) {
    for (std::int64_t i = 0; i < n / values; ++i) {
        Block b;
        std::memcpy(&b, row + i * static_cast<std::int64_t>(sizeof b), sizeof b);
        block(b, out + i * values);
    }
}

}  // namespace

float half_to_float(Half half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000) << 16;
    const std::uint32_t exponent = (half.bits >> 10) & 31;
    const std::uint32_t mantissa = half.bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

Half float_to_half(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | 0x7E00)};
    if (magnitude >= 65520.0F) return {static_cast<std::uint16_t>(sign | 0x7C00)};
    if (magnitude < 0x1p-14F) {
        const auto subnormal = static_cast<std::uint16_t>(std::nearbyintf(magnitude * 0x1p24F));
        return {static_cast<std::uint16_t>(sign | subnormal)};
    }
    const std::uint32_t rounded = (bits & 0x7FFFFFFF) + 0xFFF + ((bits >> 13) & 1);
    return {static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13))};
}

ScaleMin scale_min(const std::uint8_t* scales, int index) {
    if (index < 4) {
        return {static_cast<std::uint8_t>(scales[index] & 63),
                static_cast<std::uint8_t>(scales[index + 4] & 63)};
    }
    return {static_cast<std::uint8_t>((scales[index + 4] & 15) | (scales[index - 4] >> 6) << 4),
            static_cast<std::uint8_t>((scales[index + 4] >> 4) | (scales[index] >> 6) << 4)};
}

std::optional<Type> type_from_number(std::uint32_t gguf_type) {
    for (const TypeFacts& candidate : kFacts) {
        if (static_cast<std::uint32_t>(candidate.type) == gguf_type) return candidate.type;
    }
    return std::nullopt;
}

std::optional<Type> type_from_name(std::string_view name) {
    for (const TypeFacts& candidate : kFacts) {
        if (candidate.name == name) return candidate.type;
    }
    return std::nullopt;
}

std::string_view type_name(Type type) { return facts(type).name; }
std::int64_t block_values(Type type) { return facts(type).values; }
std::int64_t block_bytes(Type type) { return facts(type).bytes; }
std::int64_t row_bytes(Type type, std::int64_t cols) {
    return cols / block_values(type) * block_bytes(type);
}

void dequantize(Type type, const std::byte* row, float* out, std::int64_t n) noexcept {
    switch (type) {
        case Type::f32:
            std::memcpy(out, row, static_cast<std::size_t>(n) * sizeof(float));
            return;
        case Type::f16:
        case Type::bf16:
            for (std::int64_t i = 0; i < n; ++i) {
                std::uint16_t bits;
                std::memcpy(&bits, row + 2 * i, sizeof bits);
                out[i] = type == Type::f16
                             ? half_to_float({bits})
                             : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
            }
            return;
        case Type::q4_0:
            return blocks<BlockQ4_0>(row, out, n, 32);
        case Type::q4_1:
            return blocks<BlockQ4_1>(row, out, n, 32);
        case Type::q5_0:
            return blocks<BlockQ5_0>(row, out, n, 32);
        case Type::q5_1:
            return blocks<BlockQ5_1>(row, out, n, 32);
        case Type::q8_0:
            return blocks<BlockQ8_0>(row, out, n, 32);
        case Type::q4_k:
            return blocks<BlockQ4_K>(row, out, n, 256);
        case Type::q5_k:
            return blocks<BlockQ5_K>(row, out, n, 256);
        case Type::q6_k:
            return blocks<BlockQ6_K>(row, out, n, 256);
    }
}

}  // namespace steady
