// The caches of attention that keep integers: what is stored comes back within half a step, for
// every position of a group, one position's values leave the others alone, and a copy is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention/attention_case.h"
#include "kernels/cases/case.h"
#include "kernels/mla_attention_i16/op.h"
#include "kernels/mla_attention_i8x2/op.h"
#include "kernels/mla_attention_q8/op.h"

namespace steady {
namespace {

constexpr std::int64_t kRank = 64;
constexpr std::int64_t kRot = 32;
constexpr std::int64_t kWidth = kRank + kRot;

class MlaCache : public testing::TestWithParam<const CacheFormat*> {};

TEST_P(MlaCache, GivesBackEachPositionWithinHalfAStep) {
    const CacheFormat& tested = *GetParam();
    constexpr std::int64_t kPositions = 37;
    Random random(5);
    std::vector<std::byte> cache(
        static_cast<std::size_t>(tested.bytes(kRank, kRot, kPositions + 1)));
    std::vector<std::vector<float>> rows(kPositions, std::vector<float>(kWidth));
    for (std::int64_t t = kPositions - 1; t >= 0; --t) {  // in an order of no help
        std::vector<float>& row = rows[static_cast<std::size_t>(t)];
        for (float& x : row) x = random.uniform(-3.0F, 3.0F);
        if (t == 5) std::fill(row.begin(), row.begin() + kRank, 0.0F);
        tested.store(cache.data(), t, row.data(), kRank, kRot);
    }
    tested.copy(cache.data(), 6, kPositions, kRank, kRot);
    for (std::int64_t t = 0; t < kPositions; ++t) {
        const std::vector<float>& row = rows[static_cast<std::size_t>(t)];
        for (std::int64_t c = 0; c < kWidth; ++c) {
            const auto first = row.begin() + (c < kRank ? 0 : kRank);
            const auto last = c < kRank ? row.begin() + kRank : row.end();
            const float largest = std::fabs(*std::max_element(
                first, last, [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
            const double x = static_cast<double>(row[static_cast<std::size_t>(c)]);
            const double stored = tested.value(cache.data(), t, c, kRank, kRot);
            // Half a step, and what two roundings of a float are in steps.
            EXPECT_NEAR(stored, x, static_cast<double>(largest) * (0.5001 / tested.largest + 2e-7))
                << "position " << t << ", column " << c;
            if (t == 6) {
                EXPECT_EQ(tested.value(cache.data(), kPositions, c, kRank, kRot), stored);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Integers, MlaCache,
                         testing::Values(&kCacheFormat<MlaAttentionQ8::Codec>,
                                         &kCacheFormat<MlaAttentionI16::Codec>,
                                         &kCacheFormat<MlaAttentionI8x2::Codec>),
                         [](const auto& tested) { return std::string(tested.param->name); });

// A rounding that made a number of what is none would hide a broken kernel from every gate.
template <class Op>
void expect_none_stays_none() {
    for (const VariantBase* variant : variants_of(Op::name)) {
        if (!cpu::has(variant->needs)) continue;
        const auto found = find_variant<Op>(std::string(variant->name));
        for (const float bad : {NAN, INFINITY, -INFINITY}) {
            for (const std::int64_t column : {3, 33}) {  // latent, rotary
                const auto none = [&](bool in_query) {
                    Random random(7);
                    auto made = Op::make_case({2, 32, 16, 35}, random, Input::f32);
                    std::vector<float> row(48, 1.0F);
                    row[static_cast<std::size_t>(column)] = bad;
                    if (in_query) {
                        const_cast<float*>(made.args.q)[column] = bad;
                    } else {
                        Op::Codec::store(const_cast<std::byte*>(made.args.cache), 20, row.data(),
                                         made.args.shape);
                    }
                    found.variant->run(made.args, {0, 2, 0});
                    return std::isnan(made.args.out[5]);
                };
                EXPECT_TRUE(none(true)) << variant->name << ", query " << bad;
                EXPECT_TRUE(none(false)) << variant->name << ", cache " << bad;
            }
        }
    }
}
TEST(MlaIntegers, WhatIsNoNumberStaysNone) {
    expect_none_stays_none<MlaAttentionI16>();
    expect_none_stays_none<MlaAttentionI8x2>();
}

}  // namespace
}  // namespace steady
