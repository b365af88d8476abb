// Leaving a host and removing samples: what stops counting, what stays, who may do it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/record/record_json.h"
#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

TEST_F(StoreTest, AnUnpinnedJobIsMeasuredAnewByAnotherHost) {
    submit(3);
    const Lease lease = claim();
    store_.put_fingerprint(lease, {{"cpu", "x"}});
    store_.put_evidence(lease, "applied", R"({"of":"the first host"})");
    store_.put_pair(lease, measured(example_plan(3)[1]));
    EXPECT_THROW(make(DatabaseRole::owner).unpin("last"), Error) << "it is running";
    store_.stop(lease, "released", "");
    const auto other = store_.register_host("ba9876543210", {});
    EXPECT_FALSE(store_.claim(worker_, other, 30).has_value());
    EXPECT_THROW(make(DatabaseRole::worker).unpin("last"), Error) << "workers may not";
    EXPECT_EQ(make(DatabaseRole::owner).unpin("last"), 1);
    EXPECT_EQ(make(DatabaseRole::owner).unpin("last"), 0);
    const auto moved = store_.claim(worker_, other, 30);
    ASSERT_TRUE(moved.has_value());
    EXPECT_TRUE(store_.put_fingerprint(*moved, {{"cpu", "y"}}).empty());
    EXPECT_FALSE(store_.load_evidence(moved->job, "applied").has_value());
    EXPECT_TRUE(store_.load_evidence(moved->job, "applied of epoch 1").has_value());
    for (const auto& pair : store_.load_pairs(moved->job)) EXPECT_FALSE(pair.sealed);
    for (const auto& pair : example_plan(3)) store_.put_pair(*moved, measured(pair));
    const auto record = store_.load_record("last");
    EXPECT_EQ(record.pairs.size(), 4U);
    EXPECT_THAT(record.note, HasSubstr("1 pairs of host 0123456789ab no longer count"));
}

TEST_F(StoreTest, WhatAHostDiscardedLeavesWithIt) {
    submit(3);
    const Lease lease = claim();
    const std::vector<Pair> plan = example_plan(3);
    Pair bad = measured(plan[1]);
    bad.discarded = "noise: steal 9 %";
    store_.put_pair(lease, bad, bad.coins);
    Pair again = measured(plan[1]);
    again.attempt = 1;
    store_.put_pair(lease, again);
    store_.stop(lease, "released", "");
    EXPECT_EQ(make(DatabaseRole::owner).unpin("last"), 1);
    for (const Pair& pair : store_.load_pairs(lease.job)) EXPECT_FALSE(pair.sealed);
    const Lease anew = claim();
    for (const Pair& pair : plan) store_.put_pair(anew, measured(pair));
    store_.finish(anew, "accept", "", nlohmann::json(Analysis{}).dump(), "Yes.");
    EXPECT_EQ(store_.load_record("last").pairs.size(), 4U);
}

TEST_F(StoreTest, RetentionRemovesOnlyWhatNoVerdictRestsOn) {
    Store owner = make(DatabaseRole::owner);
    const auto run = [&](const std::string& id, bool fresh) {
        submit(3, id, fresh);
        const Lease lease = claim();
        for (const auto& pair : example_plan(3)) store_.put_pair(lease, measured(pair));
        return lease;
    };
    const auto decide = [&](const Lease& lease) {
        store_.finish(lease, "accept", "", nlohmann::json(Analysis{}).dump(), "Yes.");
    };
    decide(run("superseded-one", false));
    decide(run("superseded-one", true));
    const Lease failed = run("failed-one", false);
    store_.stop(failed, "failed", "broken");
    const Lease twice = run("alone", false);
    store_.stop(twice, "released", "");
    decide(claim());
    EXPECT_TRUE(owner.expendable_samples(1).empty()) << "nothing is that old";
    sql("update steady.experiment set submitted_at = submitted_at - interval '9 days';"
        "update steady.verdict set at = at - interval '9 days';"
        "update steady.attempt set began = began - interval '9 days', "
        "ended = ended - interval '9 days'");
    const auto found = owner.expendable_samples(8);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].why, "undecided");
    EXPECT_EQ(found[1].why, "superseded");
    EXPECT_EQ(found[1].rows, 4 * 4) << "four pairs, two arms, two metrics";
    EXPECT_THROW(make(DatabaseRole::worker).drop_samples(found[0].id, found[0].why), Error);
    for (const auto& one : found) EXPECT_EQ(owner.drop_samples(one.id, one.why), 16);
    EXPECT_TRUE(owner.expendable_samples(8).empty());
    EXPECT_TRUE(store_.load_record("superseded-one").analysis.has_value());
    EXPECT_TRUE(store_.load_record("alone").pairs.at(0).a.contains("token_ns"));
    EXPECT_EQ(store_.requeue("failed-one"), "queued");
    for (const auto& pair : store_.load_pairs(failed.job)) EXPECT_FALSE(pair.sealed);
    EXPECT_THROW(sql("delete from steady.sample"), pqxx::sql_error) << "append-only again";
}

}  // namespace
}  // namespace steady
