// Does the check catch what it is for? Each kind of mistake is planted in a variant of its own
// here, and the check must name it. The wrong variants of tests/support are among them.
#include "kernels/cases/check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/q4_0_matvec/op.h"

namespace steady {
namespace {

constexpr std::uint64_t kSeed = 11;
const char* const kShape = "rows=64,cols=96";

void correct(const MatvecArgs& args, Range range) noexcept {
    plain_matvec(Type::q4_0, args, range);
}

void leaves_a_row(const MatvecArgs& args, Range range) noexcept {
    correct(args, {range.begin, std::min<std::int64_t>(range.end, 63)});
}

void writes_behind(const MatvecArgs& args, Range range) noexcept {
    correct(args, range);
    args.y[args.shape.rows] = 1;
}

void writes_its_input(const MatvecArgs& args, Range range) noexcept {
    correct(args, range);
    const_cast<float*>(args.x.f32)[3] += 1;  // after the last use: no output changes in this run
}

// Spoils a byte at the end of each run and mends it when run again: no output tells.
void spoils(std::byte* byte, const MatvecArgs& args, Range range) {
    static const std::byte* spoiled = nullptr;
    if (spoiled == byte) *byte ^= std::byte{1};
    correct(args, range);
    *byte ^= std::byte{1};
    spoiled = byte;
}

void spoils_its_weights(const MatvecArgs& args, Range range) noexcept {
    spoils(const_cast<std::byte*>(args.w) + 2, args, range);
}

void spoils_its_activation(const MatvecArgs& args, Range range) noexcept {
    spoils(reinterpret_cast<std::byte*>(const_cast<float*>(args.x.f32)), args, range);
}

void depends_on_the_cut(const MatvecArgs& args, Range range) noexcept {
    correct(args, range);
    if (range.end - range.begin < 20) args.y[range.begin] *= 1.0F + 0x1p-23F;
}

void differs_when_run_again(const MatvecArgs& args, Range range) noexcept {
    static int calls = 0;
    correct(args, range);
    if (++calls % 2 == 0) args.y[range.begin] *= 1.0F + 0x1p-23F;
}

void reads_behind(const MatvecArgs& args, Range range) noexcept {
    correct(args, range);
    const auto* last = args.w + row_bytes(Type::q4_0, args.shape.cols) * args.shape.rows;
    const volatile std::byte behind = *last;
    static_cast<void>(behind);
}

std::int64_t file_bytes(MatrixShape shape) {
    return shape.rows * row_bytes(Type::q4_0, shape.cols);
}

// Each scale is off by one unit in its last place: at most 2^-10 of it.
void pack_rounded(MatrixShape shape, const std::byte* src, std::byte* dst) {
    std::copy(src, src + file_bytes(shape), dst);
    for (std::int64_t at = 0; at < file_bytes(shape); at += 18) dst[at] ^= std::byte{1};
}

VariantOptions<Q4_0Matvec> rounding(double declared) {
    return {.layout = "rounded",
            .packed_bytes = file_bytes,
            .pack = pack_rounded,
            .weight_rounding = declared,
            .run = correct};
}

const Variant<Q4_0Matvec> planted[] = {
    {"planted_rounds_silently", rounding(0)},
    {"planted_rounds_more_than_it_says", rounding(0x1p-14)},
    {"planted_rounds_as_it_says", rounding(0x1p-10)},
    {"planted_leaves_a_row", {.run = leaves_a_row}},
    {"planted_writes_behind", {.run = writes_behind}},
    {"planted_writes_its_input", {.run = writes_its_input}},
    {"planted_spoils_its_weights", {.run = spoils_its_weights}},
    {"planted_spoils_its_activation", {.run = spoils_its_activation}},
    {"planted_depends_on_the_cut", {.run = depends_on_the_cut}},
    {"planted_differs_when_run_again", {.run = differs_when_run_again}},
    {"planted_reads_behind", {.run = reads_behind}},
    {"planted_correct", {.run = correct}},
};

CheckResult check_named(const std::string& name, const std::string& shape = kShape) {
    return check_variant(*find_op("q4_0_matvec"), *find_variant<Q4_0Matvec>(name).variant, shape,
                         kSeed);
}

void expect_caught(const std::string& name, const std::string& message) {
    const CheckResult result = check_named(name);
    EXPECT_EQ(result.outcome, CheckOutcome::failed) << name;
    EXPECT_NE(result.message.find(message), std::string::npos) << name << ": " << result.message;
}

TEST(Check, PassesWhatIsCorrect) {
    EXPECT_EQ(check_named("planted_correct").message, "");
    EXPECT_EQ(check_named("planted_correct").outcome, CheckOutcome::passed);
}

TEST(Check, CatchesWhatIsNotWritten) { expect_caught("planted_leaves_a_row", "times its bound"); }
TEST(Check, CatchesWritesBehindTheOutput) { expect_caught("planted_writes_behind", "guard"); }
TEST(Check, CatchesAChangedInput) {
    expect_caught("planted_writes_its_input", "");
    expect_caught("planted_spoils_its_weights", "changed an input");
    expect_caught("planted_spoils_its_activation", "changed an input");
}
TEST(Check, CatchesBitsThatDependOnTheCut) {
    expect_caught("planted_depends_on_the_cut", "cut in");
}
TEST(Check, CatchesBitsThatDifferWhenRunAgain) {
    expect_caught("planted_differs_when_run_again", "run twice");
}

TEST(Check, WeightsMayBeRoundedAsDeclaredAndNoMore) {
    expect_caught("planted_rounds_silently", "times its bound");
    expect_caught("planted_rounds_more_than_it_says", "times its bound");
    EXPECT_EQ(check_named("planted_rounds_as_it_says").message, "");
}

// Variants of one shape share its case, but not what one of them did to it.
TEST(Check, AVariantMeetsTheCaseAsItWasMade) {
    ShapeCheck check(*find_op("q4_0_matvec"), kShape, kSeed);
    const auto outcome = [&](const char* name) {
        return check(*find_variant<Q4_0Matvec>(name).variant).outcome;
    };
    EXPECT_EQ(outcome("planted_writes_its_input"), CheckOutcome::failed);
    EXPECT_EQ(outcome("planted_correct"), CheckOutcome::passed);
    EXPECT_EQ(outcome("planted_writes_its_input"), CheckOutcome::failed);
    EXPECT_EQ(outcome("planted_rounds_as_it_says"), CheckOutcome::passed);
    EXPECT_EQ(outcome("planted_rounds_silently"), CheckOutcome::failed);
    EXPECT_EQ(outcome("planted_leaves_a_row"), CheckOutcome::failed);
    EXPECT_EQ(outcome("planted_correct"), CheckOutcome::passed);
}

TEST(CheckDeathTest, AReadBehindTheLastInputByteIsFatal) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(check_named("planted_reads_behind"), "");
}

TEST(Check, CatchesOneLostRow) {
    for (const char* shape :
         {"rows=768,cols=2048", "groups=3,rows=5,cols=32", "rows=2048,cols=5120"}) {
        const CheckResult result = check_named("broken_lost_row", shape);
        EXPECT_EQ(result.outcome, CheckOutcome::failed) << shape;
    }
}

TEST(Check, CatchesScalesOffByOneUnitInTheLastPlace) {
    for (const char* shape : {"rows=768,cols=2048", "rows=16,cols=32", "rows=2048,cols=10240"}) {
        const CheckResult result = check_named("broken_ulp", shape);
        EXPECT_EQ(result.outcome, CheckOutcome::failed) << shape;
        EXPECT_NE(result.message.find("times its bound"), std::string::npos) << result.message;
    }
}

TEST(Check, HasNothingAgainstTheOneThatOnlyLosesInAModel) {
    const CheckResult result = check_named("specialised_last_shape", "rows=64,cols=96");
    EXPECT_NE(result.outcome, CheckOutcome::failed) << result.message;
}

TEST(Check, SkipsVisiblyWhenTheCpuLacksAFeature) {
    cpu::mask(cpu::to_hide("avx512"));
    const CheckResult result = check_named("avx512_vnni_rows16");
    cpu::mask(cpu::none);
    EXPECT_EQ(result.outcome, CheckOutcome::skipped);
    EXPECT_NE(result.message.find("lacks"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace steady
