// Series over a real database: points keep their order, judging again keeps what people said, the
// page's role may triage and nothing else.
#include <gtest/gtest.h>

#include <cmath>

#include "runner/storage/connection.h"
#include "runner/storage/series_notes.h"
#include "runner/storage/track_store.h"
#include "tests/support/throwaway_database.h"

namespace steady {
namespace {

class TrackStore : public ::testing::Test {
protected:
    ThrowawayDatabase database;
    Connection owner{{.url = database.url(), .role = DatabaseRole::owner, .client = "test"}};
    track::Series series;

    void SetUp() override {
        owner.transact([&](Transaction& t) {
            series = track::open_series(t, {.id = 0,
                                            .name = "decode-on-bench",
                                            .watch = "watch-decode",
                                            .metric = "decode_tps",
                                            .model = "tiny",
                                            .claim = "as fast as before",
                                            .host = "bench",
                                            .forge = ""});
        });
    }

    void add(int position, double ratio, const std::string& failed = {}) {
        track::StoredPoint stored;
        stored.point.commit = std::string(37, 'c') + std::to_string(100 + position);
        stored.point.date = "2026-01-01T00:00:00Z";
        stored.position = position;
        stored.point.ratio = ratio;
        stored.failed = failed;
        owner.transact([&](Transaction& t) { track::add_point(t, series.id, stored); });
    }

    std::vector<TrackChange> judge() {
        std::vector<TrackChange> fresh;
        owner.transact([&](Transaction& t) {
            std::vector<track::StoredPoint> measured;
            std::vector<TrackPoint> values;
            for (auto& stored : track::points(t, series.id, 5000)) {
                if (!stored.failed.empty()) continue;
                values.push_back(stored.point);
                measured.push_back(stored);
            }
            fresh = track::keep_judgement(t, series.id, measured, judge_track(values));
        });
        return fresh;
    }

    std::vector<track::Change> changes() {
        std::vector<track::Change> out;
        owner.transact([&](Transaction& t) { out = track::changes(t, series.id); });
        return out;
    }
};

double value(int i, int at) { return (i < at ? 6.0 : 5.7) * (1 + 0.002 * ((i * 7) % 5 - 2)); }

TEST_F(TrackStore, AChangeIsNewOnceAndKeepsItsTriage) {
    for (int i = 0; i < 40; ++i) add(i, value(i, 25));
    add(40, 0, "it did not build");
    ASSERT_EQ(judge().size(), 1u);
    EXPECT_TRUE(judge().empty()) << "judging the same points again finds nothing new";
    ASSERT_EQ(changes().size(), 1u);
    EXPECT_EQ(changes()[0].state, "new");
    EXPECT_NEAR(changes()[0].change.shift, std::log(5.7 / 6), 0.004);

    Connection page({.url = database.url(), .role = DatabaseRole::web, .client = "page"});
    page.transact([&](Transaction& t) {
        EXPECT_EQ(track::triage(t, series.name, changes()[0].id, "acknowledged", "kim", "'; drop",
                                "token lee"),
                  "acknowledged");
        EXPECT_EQ(track::triage(t, "other", changes()[0].id, "fixed", "", ""), "");
    });
    for (int i = 41; i < 60; ++i) add(i, value(i, 25));
    EXPECT_TRUE(judge().empty());
    const track::Change kept = changes().at(0);
    EXPECT_EQ(kept.state, "acknowledged");
    EXPECT_EQ(kept.note, "'; drop");
    EXPECT_EQ(kept.triaged_by, "token lee");
    EXPECT_FALSE(kept.gone);
}

// The page's role writes and hides notes through functions and in no other way.
TEST_F(TrackStore, NotesStandAtACommitOfTheSeriesAndKeepTheirNames) {
    add(0, 6);
    add(1, 6);
    const std::string first = std::string(37, 'c') + "100";
    Connection page({.url = database.url(), .role = DatabaseRole::web, .client = "page"});
    std::int64_t id = 0;
    page.transact([&](Transaction& t) {
        EXPECT_EQ(track::commits_like(t, series.id, first), std::vector<std::string>{first});
        EXPECT_EQ(track::commits_like(t, series.id, "cccccccc").size(), 2U) << "of both";
        EXPECT_TRUE(track::commits_like(t, series.id, "0000000").empty());
        track::Note note{.commit = first, .kind = "mark", .text = "'; drop", .author = "kim"};
        id = track::add_note(t, series.id, note).value_or(0);
        note.commit = std::string(40, 'd');
        EXPECT_FALSE(track::add_note(t, series.id, note)) << "no point has that commit";
    });
    page.look([&](Transaction& t) {
        const auto notes = track::notes(t, series.id);
        ASSERT_EQ(notes.size(), 1U);
        EXPECT_EQ(notes[0].text, "'; drop");
        EXPECT_EQ(notes[0].author, "kim");
        EXPECT_EQ(notes[0].kind, "mark");
    });
    page.transact([&](Transaction& t) {
        EXPECT_FALSE(track::remove_note(t, series.id + 1, id, "lee")) << "another series";
        EXPECT_TRUE(track::remove_note(t, series.id, id, "lee"));
        EXPECT_FALSE(track::remove_note(t, series.id, id, "lee")) << "it is gone";
        EXPECT_TRUE(track::notes(t, series.id).empty());
        EXPECT_EQ(t.exec1("select removed_by from steady.series_note")[0].as<std::string>(), "lee");
    });
    EXPECT_ANY_THROW(
        page.transact([&](Transaction& t) { t.exec("delete from steady.series_note"); }));
}

// Two slower commits close together stay two changes, each with what was said of it.
TEST_F(TrackStore, NeighbouringChangesKeepTheirOwnAnswers) {
    for (int i = 0; i < 20; ++i) add(i, 5);
    owner.transact([&](Transaction& t) {
        const auto points = track::points(t, series.id, 100);
        TrackJudgement judged;
        judged.level.assign(points.size(), 5);
        for (const std::size_t at : {std::size_t{8}, std::size_t{11}}) {
            TrackChange one;
            one.index = at;
            one.commit = points[at].point.commit;
            one.before = points[at - 1].point.commit;
            one.shift = -0.05;
            one.cause = "code";
            judged.changes.push_back(one);
        }
        EXPECT_EQ(track::keep_judgement(t, series.id, points, judged).size(), 2U);
        for (TrackChange one : judged.changes) {
            one.confirmation = Confirmation::confirmed;
            track::keep_confirmation(t, series.id, one);
        }
        EXPECT_TRUE(track::keep_judgement(t, series.id, points, judged).empty());
    });
    const auto kept = changes();
    ASSERT_EQ(kept.size(), 2U);
    for (const track::Change& one : kept) {
        EXPECT_EQ(one.change.confirmation, Confirmation::confirmed) << one.change.commit;
        EXPECT_FALSE(one.gone);
    }
    EXPECT_NE(kept[0].change.commit, kept[1].change.commit);
}

TEST_F(TrackStore, ThePagesRoleMayOnlyTriage) {
    Connection page({.url = database.url(), .role = DatabaseRole::web, .client = "page"});
    for (const char* statement :
         {"update steady.series_change set state = 'fixed'", "delete from steady.series_point",
          "update steady.series set forge = 'https://evil.example/'"}) {
        EXPECT_ANY_THROW(page.transact([&](Transaction& t) { t.exec(statement); })) << statement;
    }
    EXPECT_NO_THROW(page.transact([](Transaction& t) { track::list_series(t); }));
}

TEST_F(TrackStore, PointsComeInTheOrderOfTheHistory) {
    add(2, 5), add(0, 3), add(1, 4), add(3, 0, "crash");
    owner.transact([&](Transaction& t) {
        const auto points = track::points(t, series.id, 100);
        ASSERT_EQ(points.size(), 4u);
        EXPECT_EQ(points[0].point.ratio, 3);
        EXPECT_EQ(points[2].point.ratio, 5);
        EXPECT_EQ(points[3].failed, "crash");
        EXPECT_EQ(track::measured_commits(t, series.id).size(), 3u);
        const auto row = track::list_series(t).at(0);
        EXPECT_EQ(row.points, 3);
        EXPECT_EQ(row.failed, 1);
        EXPECT_EQ(row.ratio, 5);
    });
}

}  // namespace
}  // namespace steady
