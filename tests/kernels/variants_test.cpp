// Every variant on every shape, as one test each: op.variant/shape. A missing CPU feature shows as
// a skipped test, never as a passed one. The variants of a shape follow each other, since they
// share its case.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cases/check.h"

namespace steady {
namespace {

constexpr std::uint64_t kSeed = 20260928;
// A sanitizer looks at each access, and two pieces make none that seven do not.
const std::vector<std::int64_t> kCuts =
    STEADY_SANITIZED ? std::vector<std::int64_t>{7} : std::vector<std::int64_t>{2, 7};

class VariantCheck : public testing::Test {
public:
    VariantCheck(const OpInfo* op, const VariantBase* variant, std::string shape)
        : op_(op), variant_(variant), shape_(std::move(shape)) {}

    void TestBody() override {
        static std::optional<ShapeCheck> check;
        if (!check || !check->is_of(*op_, shape_)) check.emplace(*op_, shape_, kSeed, kCuts);
        const CheckResult result = (*check)(*variant_);
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

// A matrix of 100,000 rows or more (an output matrix) meets no byte that one of a few thousand does
// not, and takes minutes: STEADY_LARGE_SHAPES=1 adds these, in the test long_kernels_large. For a
// sanitizer, which looks at each access, 50 million operations are many: by Clang's coverage on a
// CPU without AMX no line of the kernels runs in larger shapes alone.
bool is_large(const OpInfo& op, const std::string& shape) {
    if (STEADY_SANITIZED) return op.cost(shape).flops > 50e6;
    const std::size_t at = shape.find("rows=");
    return at != std::string::npos && std::atoll(shape.c_str() + at + 5) >= 100'000;
}

}  // namespace

void register_variant_tests() {
    const bool large_too = std::getenv("STEADY_LARGE_SHAPES") != nullptr;
    for (const OpInfo& op : all_ops()) {
        for (const std::string& shape : check_shapes(op, kSeed)) {
            if (is_large(op, shape) && !large_too) continue;
            for (const VariantBase* variant : variants_of(op.name)) {
                // A shape that a variant does not promise is no test of it.
                if (cpu::has(variant->needs) && !op.why_not(*variant, shape).empty()) continue;
                const std::string test = std::string(variant->name) + "/" + shape;
                testing::RegisterTest(std::string(op.name).c_str(), test.c_str(), nullptr, nullptr,
                                      __FILE__, __LINE__,
                                      [&op, variant, shape]() -> testing::Test* {
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
    const int result = RUN_ALL_TESTS();
    if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return result;
    std::fprintf(stderr, "no test of this name: is the op's folder another than its name?\n");
    return 1;
}
