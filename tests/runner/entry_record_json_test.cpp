// Records survive the way through JSON bit by bit, and a damaged document is refused by name.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/record/record_json.h"
#include "tests/support/sample_record.h"

namespace steady {
namespace {

using Json = nlohmann::json;

TEST(EntryRecordJson, RoundTripIsExact) {
    for (const Record& record :
         {accepted_record(), rejected_record(), wrong_output_record(), running_record()}) {
        const std::string text = record_text(record);
        const Record back = record_from_text(text);
        EXPECT_EQ(record_text(back), text);
        EXPECT_EQ(back.spec.sha256, record.spec.sha256);
        EXPECT_EQ(back.spec_text, record.spec_text);
        ASSERT_EQ(back.pairs.size(), record.pairs.size());
        for (std::size_t i = 0; i < record.pairs.size(); ++i) {
            EXPECT_EQ(back.pairs[i].a, record.pairs[i].a);  // doubles, bit by bit
            EXPECT_EQ(back.pairs[i].coins, record.pairs[i].coins);
        }
        EXPECT_EQ(back.analysis.has_value(), record.analysis.has_value());
        if (record.analysis) {
            EXPECT_EQ(back.analysis->d, record.analysis->d);
            EXPECT_EQ(back.analysis->effect, record.analysis->effect);
            EXPECT_EQ(back.analysis->gates.size(), record.analysis->gates.size());
        }
    }
}

// A field forgotten in both directions would round-trip unseen: the lists are counted here.
TEST(EntryRecordJson, NoFieldIsForgotten) {
    const Json json = accepted_record();
    EXPECT_EQ(json["pairs"][0].size(), 9U);
    EXPECT_EQ(json["analysis"].size(), 21U);
    EXPECT_EQ(json["analysis"]["gates"][0].size(), 12U);
    EXPECT_EQ(json["analysis"]["checks"][0].size(), 3U);
    EXPECT_EQ(json["attempts"][0].size(), 7U);
    EXPECT_EQ(json["evidence"].size(), 5U);
    EXPECT_EQ(json["evidence"]["correctness"].size(), 8U);
    EXPECT_EQ(json.size(), 20U);
}

TEST(EntryRecordJson, EveryKeyIsNeededAndNoOther) {
    const Json whole = Json::parse(record_text(accepted_record()));
    for (const auto& [key, value] : whole.items()) {
        Json less = whole;
        less.erase(key);
        EXPECT_THROW(record_from_text(less.dump()), Error) << key;
    }
    Json more = whole;
    more["extra"] = 1;
    EXPECT_THROW(record_from_text(more.dump()), Error);
    Json deep = whole;
    deep["analysis"]["gates"][2].erase("outcome");
    try {
        record_from_text(deep.dump());
        FAIL() << "accepted a gate without outcome";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("record/analysis/gates/2"), std::string::npos)
            << error.what();
    }
}

TEST(EntryRecordJson, WrongTypesAreRefused) {
    const Json whole = Json::parse(record_text(accepted_record()));
    const std::pair<const char*, Json> kWrong[] = {
        {"/seconds", "long"},          {"/seed", -1},         {"/rerun", 1.5},
        {"/analysis/verdict", "yes"},  {"/pairs/0/kind", 0},  {"/pairs/0/sealed", 1},
        {"/analysis/pairs", 1e30},     {"/id", nullptr},      {"/pairs", Json::object()},
        {"/analysis/d/0", nullptr},    {"/attempts", "none"}, {"/spec/gates", Json::array()},
        {"/pairs/0/a/token_ns", 12.0}, {"/format", "other"},  {"/evidence/applied/version", "1"},
    };
    for (const auto& [pointer, value] : kWrong) {
        Json bad = whole;
        bad[Json::json_pointer(pointer)] = value;
        EXPECT_THROW(record_from_text(bad.dump()), Error) << pointer;
    }
    EXPECT_THROW(record_from_text("{"), Error);
    EXPECT_THROW(record_from_text("[]"), Error);
}

TEST(EntryRecordJson, InfiniteEvidenceIsKept) {
    Analysis analysis = *accepted_record().analysis;
    analysis.log_e_over_pairs = {0, std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
    const Analysis back = Json::parse(Json(analysis).dump()).get<Analysis>();
    EXPECT_EQ(back.log_e_over_pairs, analysis.log_e_over_pairs);
}

TEST(EntryRecordJson, DivergenceOfABrokenCandidateIsKept) {
    Evidence evidence = accepted_record().evidence;
    evidence.correctness->engine->kl = std::nan("");
    evidence.correctness->engine->non_finite = true;
    const Evidence back = Json::parse(Json(evidence).dump()).get<Evidence>();
    EXPECT_TRUE(std::isnan(back.correctness->distances.at("kl")));
    EXPECT_TRUE(back.correctness->unusable);
    EXPECT_EQ(back.applied->engine->arms.at("B").launches_per_token, 471);
}

// A command's reports have a form of their own beside the engine's, under the same names.
TEST(EntryRecordJson, ReportsOfACommandComeBackWhole) {
    Evidence evidence;
    ProgramReport& report = evidence.applied.emplace();
    report.arms["B"].settings["rev"] = {.value = "4f1c"};
    report.arms["B"].facts["program_sha256"] = "ab";
    report.refused = "build_failed";
    report.detail = "arm B: make ended with exit code 2";
    OutputsReport& outputs = evidence.correctness.emplace();
    outputs.checks = {{"same", "stdout", true, "both print 12 bytes"}};
    outputs.proofs = {{"B", "log_has", "on", false, "its log does not hold \"on\""}};
    outputs.units["wall_ns"] = "ns";
    const Json written(evidence);
    EXPECT_EQ(written, Json(Json::parse(written.dump()).get<Evidence>()));
    const Evidence back = written.get<Evidence>();
    EXPECT_EQ(back.applied->arms.at("B").settings.at("rev").value, "4f1c");
    EXPECT_FALSE(back.correctness->proofs.at(0).held);
    EXPECT_FALSE(back.correctness->engine);
}

TEST(EntryShowJson, HoldsWhatProgramsRead) {
    const Json shown = show_json(accepted_record());
    for (const char* key : {"id", "verdict", "reason", "effect", "interval", "pairs", "seconds",
                            "gates", "journal", "metric", "prediction", "aa_band", "repeat"}) {
        EXPECT_TRUE(shown.contains(key)) << key;
    }
    EXPECT_EQ(shown["verdict"], "accept");
    EXPECT_TRUE(shown["reason"].is_null());
    EXPECT_EQ(shown["interval"].size(), 2U);
    EXPECT_GT(shown["interval"][1].get<double>(), shown["interval"][0].get<double>());
    EXPECT_EQ(shown["pairs"], 17);
    EXPECT_EQ(shown["gates"].size(), 7U);
    EXPECT_EQ(shown["gates"][3]["id"], "decode");
    EXPECT_EQ(shown["gates"][3]["level"], "model");
    EXPECT_EQ(shown["gates"][3]["role"], "decides");
    EXPECT_EQ(shown["gates"][3]["outcome"], "pass");
    EXPECT_EQ(shown["journal"], "journal/2026-11-21-experts-fused-vnni.md");
}

TEST(EntryShowJson, BeforeAVerdictThePairsSoFarAreThere) {
    const Json shown = show_json(running_record());
    EXPECT_TRUE(shown["verdict"].is_null());
    EXPECT_TRUE(shown["effect"].is_null());
    EXPECT_EQ(shown["pairs"], 3);
    EXPECT_EQ(shown["gates"][0]["outcome"], "pending");
    EXPECT_TRUE(shown["journal"].is_null());
}

TEST(EntryShowJson, UnboundedIsNull) {
    const Json shown = show_json(rejected_record());
    EXPECT_TRUE(shown["gates"][4]["interval"][1].is_null());
    EXPECT_FALSE(shown["gates"][4]["interval"][0].is_null());
}

// Records from before rules had numbers were judged by the first, and are written as they were.
TEST(EntryRecordJson, ARunKeepsTheRuleThatItBeganWith) {
    Prior prior;
    EXPECT_FALSE(nlohmann::json(prior).contains("rule"));
    EXPECT_FALSE(nlohmann::json(prior).get<Prior>().rule);
    prior.rule = 2;
    EXPECT_EQ(nlohmann::json(prior).at("rule"), 2);
    EXPECT_EQ(nlohmann::json(prior).get<Prior>().rule, 2);
}

}  // namespace
}  // namespace steady
