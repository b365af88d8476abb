// Every variant on every shape, as one test each: op/variant/shape. A missing CPU feature shows as
// a skipped test, never as a passed one.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <string>

#include "kernels/cases/check.h"

namespace steady {
namespace {

constexpr std::uint64_t kSeed = 20260928;

class VariantCheck : public testing::Test {
public:
    VariantCheck(const OpInfo* op, const VariantBase* variant, std::string shape)
        : op_(op), variant_(variant), shape_(std::move(shape)) {}

    void TestBody() override {
        const CheckResult result = check_variant(*op_, *variant_, shape_, kSeed);
        if (result.outcome == CheckOutcome::skipped) GTEST_SKIP() << result.message;
        EXPECT_EQ(result.outcome, CheckOutcome::passed)
            << op_->name << ' ' << variant_->name << ' ' << shape_ << ", seed " << kSeed << ": "
            << result.message;
        RecordProperty("worst_error", std::to_string(result.worst_error));
    }

private:
    const OpInfo* op_;
    const VariantBase* variant_;
    std::string shape_;
};

}  // namespace

void register_variant_tests() {
    for (const OpInfo& op : all_ops()) {
        for (const VariantBase* variant : variants_of(op.name)) {
            for (const std::string& shape : check_shapes(op, kSeed)) {
                // A shape that a variant does not promise is no test of it.
                if (cpu::has(variant->needs) && !op.why_not(*variant, shape).empty()) continue;
                const std::string suite = std::string(op.name) + "/" + std::string(variant->name);
                testing::RegisterTest(suite.c_str(), shape.c_str(), nullptr, nullptr, __FILE__,
                                      __LINE__, [&op, variant, shape]() -> testing::Test* {
                                          return new VariantCheck(&op, variant, shape);
                                      });
            }
        }
    }
}

}  // namespace steady

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    steady::register_variant_tests();
    return RUN_ALL_TESTS();
}
