// What an analysis stores of the effect's dependence on speed and placement is what its pairs say,
// so that an experiment's page need not read them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/entry/entry_data.h"
#include "runner/record/record_json.h"
#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Twice as slow in every second pair, where B is faster by a sixth, and 1 % in the others; three
// pairs on a placement.
Record decided(std::uint64_t noise_seed) {
    World world{.effect = {{"model", 0.01}}, .noise_seed = noise_seed};
    world.spoil = [](Pair& pair) {
        const auto scale = [](std::map<std::string, std::vector<double>>& arm, double by) {
            for (auto& [metric, values] : arm)
                for (double& value : values) value *= by;
        };
        if (pair.kind == PairKind::measure && pair.number % 2 == 1) {
            scale(pair.a, 2);
            scale(pair.b, 2 / 1.17);
        }
        pair.a[kPlacement] = pair.b[kPlacement] = {static_cast<double>(pair.number / 3)};
    };
    Bench bench(plain_spec(), std::move(world));
    Record record;
    record.analysis = bench.finish();
    record.spec = *bench.input.spec;
    record.pairs = bench.pairs;
    return record;
}

TEST(EntryDependence, IsStoredAsThePairsSayIt) {
    constexpr int kRecords = STEADY_SANITIZED ? 5 : 20;
    int n_depending = 0;
    for (std::uint64_t seed = 1; seed <= kRecords; ++seed) {
        Record record = decided(seed);
        ASSERT_TRUE(record.analysis->dependence);
        const std::string stored = outcome_sentence(record);
        const Json all = *record.analysis;
        record.analysis->dependence.reset();
        EXPECT_EQ(stored, outcome_sentence(record)) << "worked out from the pairs";
        const auto rows = pair_rows(record);
        Analysis again = *record.analysis;
        again.dependence =
            Dependence{machine_state_of(record, rows), placement_spread_of(record, rows)};
        EXPECT_EQ(Json(again), all);
        n_depending += stored.find("depends on machine state") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(n_depending, kRecords * 2 / 5);
}

TEST(EntryDependence, NeedsNoPairsOnceItIsStored) {
    Record record = decided(1);
    record.pairs.clear();
    EXPECT_THAT(outcome_sentence(record), HasSubstr("depends on machine state"));
}

TEST(EntryDependence, AnAnalysisFromBeforeIsReadAndWrittenAsItWas) {
    const Json now = *decided(1).analysis;
    Json before = now;
    before.erase("dependence");
    EXPECT_EQ(Json(before.get<Analysis>()), before);
    EXPECT_EQ(Json(now.get<Analysis>()), now);
}

}  // namespace
}  // namespace steady
