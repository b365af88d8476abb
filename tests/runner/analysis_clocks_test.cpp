// What is said of a GPU's clocks: both arms' ranges, whether they differ, whether the GPU was
// throttled; and that records without clocks stay what they were.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/entry/entry_sections.h"
#include "runner/entry/report.h"
#include "runner/record/record_json.h"
#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Spec gpu_spec() {
    Spec spec = plain_spec();
    for (auto& [letter, arm] : spec.arms) arm.engine_flags["device"] = "cuda";
    return spec;
}

// Warm-up chunks at 300 MHz, then `a` and `b` in turns with one step more.
void put_clocks(const Spec& spec, Pair& pair, double a, double b, std::int64_t reasons_b = 0) {
    const int warm = spec.schedule.warmup_tokens / spec.schedule.chunk;
    const int all = warm + spec.schedule.tokens / spec.schedule.chunk;
    for (const auto& [arm, mhz, bits] :
         {std::tuple{&pair.a, a, std::int64_t{1}}, {&pair.b, b, reasons_b}}) {
        std::vector<std::int64_t> reasons;
        for (int i = 0; i < all; ++i) {
            (*arm)[kSmClock].push_back(i < warm ? 300 : mhz + 15 * (i % 2));
            (*arm)[kMemoryClock].push_back(2619);
            reasons.push_back(i % 2 == 1 ? bits : 0);
        }
        (*arm)[kClockReasons] = stored_reasons(reasons);
    }
}

Record decided_at(const Spec& spec, double a, double b, std::int64_t reasons_b = 0) {
    World world{.effect = {{"model", 0.05}}};
    world.spoil = [&](Pair& pair) {
        if (a > 0) put_clocks(spec, pair, a, b, reasons_b);
    };
    Bench bench(spec, std::move(world));
    Record record;
    record.analysis = bench.finish();
    record.spec = spec;
    record.pairs = bench.pairs;
    return record;
}

const Check* clocks_check(const Record& record) {
    for (const Check& check : record.analysis->checks) {
        if (check.name == "gpu_clocks") return &check;
    }
    return nullptr;
}

TEST(GpuClocks, EqualClocksAreShownAndCalm) {
    const Record record = decided_at(gpu_spec(), 1965, 1965);
    ASSERT_TRUE(record.analysis->clocks);
    const ClockReport& report = *record.analysis->clocks;
    EXPECT_EQ(report.a->sm.lowest, 1965) << "warm-up is left out";
    EXPECT_EQ(report.a->sm.highest, 1980);
    EXPECT_EQ(report.b->memory.median, 2619);
    EXPECT_EQ(report.pairs, record.analysis->pairs);
    EXPECT_NEAR(*report.change, 0, 1e-12);
    EXPECT_FALSE(report.differ || report.throttled);
    ASSERT_NE(clocks_check(record), nullptr);
    EXPECT_EQ(clocks_check(record)->status, "ok");
    EXPECT_THAT(
        clocks_check(record)->detail,
        HasSubstr("A: SM 1965 to 1980 MHz, median 1972, memory 2619 MHz, lowered in none of "
                  "its chunks; B: "));
    const std::string entry = entry::clocks(record);
    EXPECT_THAT(entry, HasSubstr("## Clocks of the GPU"));
    EXPECT_THAT(entry, HasSubstr("| A | 1965 | 1972 | 1980 | 2619 MHz | 0 % | none |"));
    EXPECT_THAT(entry, Not(HasSubstr("Caution")));
    EXPECT_THAT(show_text(record, {}), HasSubstr("GPU clocks. A: SM 1965 to 1980 MHz"));
}

TEST(GpuClocks, AClockThatDiffersIsACaution) {
    const Record record = decided_at(gpu_spec(), 1980, 1950);
    EXPECT_TRUE(record.analysis->clocks->differ);
    EXPECT_NEAR(*record.analysis->clocks->change, -0.0151, 1e-3);
    EXPECT_EQ(clocks_check(record)->status, "flag");
    EXPECT_THAT(entry::clocks(record),
                HasSubstr("**Caution: B's SM clock differs from A's by −1.5"));
    EXPECT_FALSE(decided_at(gpu_spec(), 1980, 1976).analysis->clocks->differ)
        << "less than half of a worth of 1 %";
    EXPECT_EQ(record.analysis->verdict, decided_at(gpu_spec(), 1980, 1980).analysis->verdict)
        << "no verdict is taken back";
}

TEST(GpuClocks, AThrottledGpuIsACautionAndAPowerLimitIsNamed) {
    const Record hot = decided_at(gpu_spec(), 1980, 1980, 0x24);
    EXPECT_TRUE(hot.analysis->clocks->throttled);
    EXPECT_THAT(clocks_check(hot)->detail, HasSubstr("the GPU was throttled: heat"));
    EXPECT_THAT(clocks_check(hot)->detail,
                HasSubstr("lowered in 50 % of its chunks (power limit, heat)"));
    const Record capped = decided_at(gpu_spec(), 1980, 1980, 0x4);
    EXPECT_EQ(clocks_check(capped)->status, "ok") << "usual under load";
    EXPECT_NEAR(capped.analysis->clocks->b->lowered, 0.5, 0.01);
    EXPECT_EQ(capped.analysis->clocks->a->lowered, 0) << "idle after a chunk lowers nothing";
}

TEST(GpuClocks, AnArmOnTheCpuHasNone) {
    Spec spec = gpu_spec();
    spec.arms["A"].engine_flags["device"] = "cpu";
    spec.expect_diff.insert(spec.expect_diff.begin(), "engine_flags.device");
    const Record record = decided_at(spec, 345, 1980);
    ASSERT_TRUE(record.analysis->clocks);
    EXPECT_FALSE(record.analysis->clocks->a);
    EXPECT_FALSE(record.analysis->clocks->change || record.analysis->clocks->differ);
    EXPECT_THAT(entry::clocks(record), HasSubstr("| A | on the CPU |"));
    EXPECT_EQ(clocks_json(record.analysis->clocks)["arms"]["A"], nullptr);
}

TEST(GpuClocks, RecordsWithoutClocksStayAsTheyWere) {
    const Record record = decided_at(gpu_spec(), 0, 0);
    EXPECT_FALSE(record.analysis->clocks);
    EXPECT_EQ(clocks_check(record), nullptr);
    EXPECT_EQ(entry::clocks(record), "");
    EXPECT_FALSE(Json(*record.analysis).contains("clocks"));
    EXPECT_EQ(clocks_json(record.analysis->clocks), nullptr);
}

TEST(GpuClocks, AreReadBackAsTheyWereWritten) {
    const Record record = decided_at(gpu_spec(), 1980, 1950, 0x20);
    const Json json = *record.analysis;
    EXPECT_TRUE(json.contains("clocks"));
    EXPECT_EQ(Json(json.get<Analysis>()), json);
    const Json shown = clocks_json(record.analysis->clocks);
    EXPECT_EQ(shown["arms"]["B"]["reasons"], "heat");
    EXPECT_EQ(shown["arms"]["A"]["sm_mhz"]["highest"], 1995);
    EXPECT_THAT(shown["caution"], HasSubstr("differs"));
}

TEST(GpuClocks, StoredReasonsAreAboveZero) {
    EXPECT_THAT(stored_reasons({0, 1, 4}), ElementsAre(1, 2, 5));
    EXPECT_EQ(reason_words(0), "");
    EXPECT_EQ(reason_words(0x84), "power limit, power supply");
}

}  // namespace
}  // namespace steady
