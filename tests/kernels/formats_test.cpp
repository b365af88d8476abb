// Hand-made blocks of each format with values that can be worked out on paper, so that the exact
// decoding, on which every other check rests, does not rest on itself.
#include "kernels/formats/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace steady {
namespace {

template <class Block>
std::vector<float> values_of_block(Type type, const Block& block) {
    std::vector<float> values(static_cast<std::size_t>(block_values(type)));
    dequantize(type, reinterpret_cast<const std::byte*>(&block), values.data(), block_values(type));
    return values;
}

TEST(Formats, HalfPrecisionRoundTripsEveryNumber) {
    for (int bits = 0; bits < 65536; ++bits) {
        const Half half{static_cast<std::uint16_t>(bits)};
        const float value = half_to_float(half);
        if (std::isnan(value)) continue;
        EXPECT_EQ(float_to_half(value).bits, half.bits) << bits;
    }
    EXPECT_EQ(half_to_float({0x3C00}), 1.0F);
    EXPECT_EQ(half_to_float({0x0001}), 0x1p-24F);
    EXPECT_EQ(half_to_float({0xFBFF}), -65504.0F);
    EXPECT_EQ(float_to_half(1.0F + 0x1p-11F).bits, 0x3C00);  // a tie goes to even
    EXPECT_EQ(float_to_half(65520.0F).bits, 0x7C00);
}

TEST(Formats, Q4_0PutsTheFirstHalfInLowNibbles) {
    BlockQ4_0 block{float_to_half(0.5F), {}};
    for (int j = 0; j < 16; ++j) block.qs[j] = static_cast<std::uint8_t>(j | (15 - j) << 4);
    const std::vector<float> values = values_of_block(Type::q4_0, block);
    EXPECT_EQ(values[0], -4.0F);
    EXPECT_EQ(values[15], 3.5F);
    EXPECT_EQ(values[16], 3.5F);
    EXPECT_EQ(values[31], -4.0F);
}

TEST(Formats, FiveBitBlocksTakeTheirTopBitFromQh) {
    BlockQ5_0 block{float_to_half(2.0F), {0x01, 0, 0, 0x80}, {}};
    block.qs[0] = 0x03;
    block.qs[15] = 0x50;
    std::vector<float> values = values_of_block(Type::q5_0, block);
    EXPECT_EQ(values[0], 2.0F * (19 - 16));
    EXPECT_EQ(values[1], 2.0F * -16);
    EXPECT_EQ(values[31], 2.0F * (21 - 16));
    BlockQ5_1 with_min{float_to_half(2.0F), float_to_half(-1.0F), {0x01, 0, 0, 0x80}, {}};
    with_min.qs[0] = 0x03;
    values = values_of_block(Type::q5_1, with_min);
    EXPECT_EQ(values[0], 2.0F * 19 - 1);
    EXPECT_EQ(values[1], -1.0F);
    EXPECT_EQ(values[31], 2.0F * 16 - 1);
}

TEST(Formats, Q4_1AndQ8_0AreAffineAndLinear) {
    BlockQ4_1 four{float_to_half(0.25F), float_to_half(3.0F), {}};
    four.qs[2] = 0xA7;
    std::vector<float> values = values_of_block(Type::q4_1, four);
    EXPECT_EQ(values[2], 0.25F * 7 + 3);
    EXPECT_EQ(values[18], 0.25F * 10 + 3);
    BlockQ8_0 eight{float_to_half(0.5F), {}};
    eight.qs[31] = -128;
    values = values_of_block(Type::q8_0, eight);
    EXPECT_EQ(values[31], -64.0F);
}

TEST(Formats, SixBitScalesAreUnpackedInBothHalves) {
    // Scale j and min j written by the format's own packing rule.
    const int scale[8] = {1, 63, 17, 32, 45, 62, 33, 7};
    const int min[8] = {60, 2, 31, 48, 9, 63, 20, 40};
    std::uint8_t packed[12] = {};
    for (int j = 0; j < 4; ++j) {
        packed[j] = static_cast<std::uint8_t>(scale[j] | (scale[j + 4] >> 4) << 6);
        packed[j + 4] = static_cast<std::uint8_t>(min[j] | (min[j + 4] >> 4) << 6);
        packed[j + 8] = static_cast<std::uint8_t>((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
    for (int j = 0; j < 8; ++j) {
        EXPECT_EQ(scale_min(packed, j).scale, scale[j]) << j;
        EXPECT_EQ(scale_min(packed, j).min, min[j]) << j;
    }
}

TEST(Formats, KBlocksFindTheirQuants) {
    BlockQ5_K five{};
    five.d = float_to_half(1.0F);
    five.dmin = float_to_half(1.0F);
    five.scales[1] = 2;    // scale of sub-block 1
    five.scales[5] = 5;    // min of sub-block 1
    five.qs[3] = 0xB0;     // value 3 of sub-block 1 (high nibble of the first 32 bytes)
    five.qh[3] = 1U << 1;  // its fifth bit
    const std::vector<float> values = values_of_block(Type::q5_k, five);
    EXPECT_EQ(values[32 + 3], 2.0F * (11 + 16) - 5);
    EXPECT_EQ(values[32 + 4], -5.0F);

    BlockQ6_K six{};
    six.d = float_to_half(0.5F);
    six.scales[15] = -3;          // the last sixteen values
    six.ql[64 + 32 + 31] = 0x90;  // value 255: high nibble of the second half's last byte
    six.qh[32 + 31] = 2U << 6;
    const std::vector<float> more = values_of_block(Type::q6_k, six);
    EXPECT_EQ(more[255], 0.5F * -3 * (9 + 32 - 32));
    EXPECT_EQ(more[254], 0.5F * -3 * (0 - 32));
}

TEST(Formats, NumbersAndNamesAgree) {
    for (const Type type : kAllTypes) {
        EXPECT_EQ(type_from_number(static_cast<std::uint32_t>(type)), type);
        EXPECT_EQ(type_from_name(type_name(type)), type);
    }
    EXPECT_EQ(type_from_number(8), Type::q8_0);
    EXPECT_FALSE(type_from_number(9).has_value());
    EXPECT_EQ(row_bytes(Type::q6_k, 2048), 8 * 210);
}

}  // namespace
}  // namespace steady
