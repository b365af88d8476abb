// The recorded journal, judged again: every field that the corpus holds about the replay must come
// out of today's code.
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/base/error.h"
#include "runner/statistics/check/replay.h"
#include "runner/statistics/check/stats_check.h"

namespace steady {
namespace {

const nlohmann::json& corpus() {
    static const nlohmann::json document = [] {
        std::ifstream file(STEADY_SOURCE_DIR "/tests/data/journal-corpus.json");
        return nlohmann::json::parse(file);
    }();
    return document;
}

const Replay& replayed() {
    static const Replay replay = replay_corpus(corpus());
    return replay;
}

const ReplayedRecord& record(const std::string& id) {
    for (const ReplayedRecord& one : replayed().records)
        if (one.id == id) return one;
    throw std::runtime_error("no record " + id);
}

TEST(Replay, GivesWhatTheCorpusSaysFieldByField) {
    ASSERT_EQ(replayed().records.size(), corpus()["records"].size());
    for (std::size_t i = 0; i < replayed().records.size(); ++i) {
        nlohmann::json expect = corpus()["records"][i]["replay"];
        expect.erase("comment");  // a reader's remark, not a result
        EXPECT_EQ(first_difference(expect, replayed().records[i].replay, 1.01e-5), "")
            << replayed().records[i].id;
    }
}

TEST(Replay, CountsAgreements) {
    EXPECT_EQ(replayed().n_agree, 55);
    EXPECT_EQ(replayed().n_differ, 6);
    EXPECT_EQ(replayed().n_without_decision, 14);
}

TEST(Replay, HardFailuresAreWrongOutput) {
    for (const char* id : {"003-24a", "003-24b", "003-27.3", "001-D05", "001-D13"}) {
        EXPECT_EQ(record(id).verdict, "reject") << id;
        EXPECT_EQ(record(id).reason, "wrong_output") << id;
    }
}

TEST(Replay, NothingRecordedCouldBeAcceptedByTodaysRule) {
    for (const ReplayedRecord& one : replayed().records) EXPECT_NE(one.verdict, "accept") << one.id;
}

TEST(Replay, EachDifferenceIsExplainedInOneSentence) {
    for (const ReplayedRecord& one : replayed().records) {
        if (!one.agrees || *one.agrees) continue;
        EXPECT_NE(one.sentence.find("the engineer accepted"), std::string::npos) << one.id;
        EXPECT_EQ(one.sentence.find('\n'), std::string::npos) << one.id;
    }
    EXPECT_NE(record("003-20").sentence.find("about 10 pairs"), std::string::npos)
        << record("003-20").sentence;
}

TEST(Replay, TheRunThatTailedOffIsFlagged) {
    EXPECT_TRUE(record("003-31").drifting);
    EXPECT_FALSE(record("003-25").drifting);
}

TEST(Replay, EnoughPairsAreAccepted) {
    nlohmann::json one = {{"id", "x"}, {"human_decision", "rejected"}, {"gate_class", "block"}};
    one["metrics"] = {{{"name", "full_model"}, {"lower_is_better", true}}};
    for (int i = 0; i < 12; ++i) {
        one["metrics"][0]["A"].push_back(10.0 + 0.01 * (i % 3));
        one["metrics"][0]["B"].push_back(9.0);
    }
    const Replay replay = replay_corpus({{"records", {one}}});
    EXPECT_EQ(replay.records[0].verdict, "accept");
    EXPECT_EQ(replay.records[0].agrees, false);
}

TEST(Replay, AFileOfAnotherKindIsRefusedWithItsPlace) {
    EXPECT_THROW(replay_corpus(nlohmann::json::array()), Error);
    try {
        replay_corpus({{"records", {{{"id", 7}}}}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/records/0"), std::string::npos);
    }
}

TEST(Replay, TextAndJsonHoldEveryRecord) {
    const std::string text = replay_text(replayed());
    EXPECT_NE(text.find("55 as the engineer acted, 6 different"), std::string::npos) << text;
    EXPECT_EQ(replay_json(replayed())["records"].size(), replayed().records.size());
}

}  // namespace
}  // namespace steady
