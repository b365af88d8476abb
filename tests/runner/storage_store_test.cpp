// The store against a real PostgreSQL: what is refused, what is idempotent, what comes back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runner/base/sha256.h"
#include "runner/judge/analysis_checks.h"
#include "runner/platform/files.h"
#include "runner/queue/submit.h"
#include "runner/record/record_json.h"
#include "runner/storage/migrate.h"
#include "runner/storage/service.h"
#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

TEST_F(StoreTest, SubmittingTwiceIsTheSameJob) {
    const auto first = submit();
    const auto again = submit();
    EXPECT_TRUE(first.created);
    EXPECT_FALSE(again.created);
    EXPECT_EQ(first.job, again.job);
    EXPECT_EQ(first.id, again.id);
    EXPECT_EQ(submit(3, "example-spec", true).id, first.id) << "it waits, and is that further run";
    store_.cancel(first.id);
    const auto rerun = submit(3, "example-spec", true);
    EXPECT_TRUE(rerun.created);
    EXPECT_EQ(rerun.id, first.id + "-2");
    EXPECT_FALSE(submit(3, "example-spec", true).created) << "asked once more, queued once";
    EXPECT_EQ(submit().id, rerun.id) << "the latest run answers for the file";
}

TEST_F(StoreTest, EightSubmittersMakeOneJob) {
    std::set<std::int64_t> all;
    for (const bool fresh : {false, true}) {
        std::array<std::int64_t, 8> jobs{};
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                threads.emplace_back([&, i] {
                    try {
                        const Spec spec = example_spec();
                        Store mine = make();
                        jobs[i] = mine.submit({.spec = &spec,
                                               .plan = example_plan(5),
                                               .seed = i,
                                               .fresh_rerun = fresh,
                                               .need_tags = {}})
                                      .job;
                    } catch (const std::exception& error) {
                        ADD_FAILURE() << error.what();
                    }
                });
            }
        }
        EXPECT_EQ(std::set<std::int64_t>(jobs.begin(), jobs.end()).size(), 1U) << fresh;
        all.insert(jobs.begin(), jobs.end());
        store_.cancel("last");
    }
    EXPECT_EQ(all.size(), 2U) << "a further run of the same file";
}

TEST_F(StoreTest, APairComesBackAsItWasPut) {
    submit(2);
    const Lease lease = claim();
    Pair pair = measured(example_plan(2)[1], 80);
    pair.a["token_ns"][3] = 123456.78901234567;
    store_.put_pair(lease, pair);
    store_.put_pair(lease, pair);  // a replay changes nothing
    const auto pairs = store_.load_pairs(lease.job, false);
    ASSERT_EQ(pairs.size(), 1U);
    EXPECT_EQ(pairs[0].a, pair.a) << "every bit";
    EXPECT_EQ(pairs[0].b, pair.b);
    EXPECT_EQ(pairs[0].coins, pair.coins);
    EXPECT_TRUE(pairs[0].sealed);
    EXPECT_EQ(store_.load_pairs(lease.job).size(), 3U);
}

TEST_F(StoreTest, AReplayWithOtherValuesIsRefused) {
    submit();
    const Lease lease = claim();
    Pair pair = measured(example_plan(3)[1]);
    store_.put_samples(lease, pair);
    pair.a["token_ns"][0] += 1;
    EXPECT_THROW(store_.put_samples(lease, pair), RecordConflict);
    EXPECT_THROW(store_.put_pair(lease, pair), RecordConflict);
}

TEST_F(StoreTest, OnlyWholePairsAreSealed) {
    submit();
    const Lease lease = claim();
    Pair pair = measured(example_plan(3)[1]);
    pair.b.erase("token_ns");
    EXPECT_THROW(store_.put_pair(lease, pair), RecordConflict) << "one arm lacks a metric";
    pair = measured(example_plan(3)[1]);
    pair.b["token_ns"].pop_back();
    EXPECT_THROW(store_.put_pair(lease, pair), RecordConflict) << "one value fewer";
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
        pair = measured(example_plan(3)[1]);
        pair.b["token_ns"][1] = bad;
        EXPECT_THROW(store_.put_pair(lease, pair), Error) << bad;
    }
    EXPECT_TRUE(store_.load_pairs(lease.job, false).empty());
}

TEST_F(StoreTest, ADiscardedPairGetsItsNextTryAndNeverCounts) {
    submit();
    const Lease lease = claim();
    Pair pair = example_plan(3)[1];
    for (int attempt = 0; attempt < 3; ++attempt) {
        pair.attempt = attempt;
        pair.discarded = "throttled";
        store_.put_pair(lease, pair, "10");
    }
    const auto pairs = store_.load_pairs(lease.job, false);
    EXPECT_EQ(pairs.size(), 3U);
    EXPECT_EQ(pairs[2].coins, "10");
    pqxx::connection connection(database_.url());
    pqxx::work work(connection);
    EXPECT_EQ(work.exec("select count(*) from steady.official_sample")[0][0].as<int>(), 0);
}

TEST_F(StoreTest, AStaleEpochIsFencedOffEverywhere) {
    submit();
    const Lease old = claim(0.05);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(store_.rescue(), 1);
    sql("update steady.job set run_after = clock_timestamp()");
    worker_ = random_uuid();
    const Lease current = claim();
    EXPECT_EQ(current.epoch, old.epoch + 1);
    const Pair pair = measured(example_plan(3)[1]);
    EXPECT_THROW(store_.put_pair(old, pair), LeaseLost);
    EXPECT_THROW(store_.put_samples(old, pair), LeaseLost);
    EXPECT_THROW(store_.renew(old, 30), LeaseLost);
    EXPECT_THROW(store_.put_evidence(old, "applied", "{}"), LeaseLost);
    EXPECT_THROW(store_.put_fingerprint(old, {}), LeaseLost);
    EXPECT_THROW(store_.put_aa(old, 1, "decode_tps", Mode::duet, "m.gguf", {0}, {0.1}), LeaseLost);
    EXPECT_THROW(finish(old), LeaseLost);
    EXPECT_THROW(store_.stop(old, "crashed", ""), LeaseLost);
    store_.put_pair(current, pair);
}

// The same worker took the same job again: what it still holds of the first time is stale.
TEST_F(StoreTest, AnEarlierEpochOfTheSameWorkerIsFencedOffToo) {
    submit();
    const Lease old = claim(0.05);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(store_.rescue(), 1);
    sql("update steady.job set run_after = clock_timestamp()");
    const Lease current = claim();
    ASSERT_EQ(current.worker, old.worker);
    ASSERT_EQ(current.epoch, old.epoch + 1);
    const Pair pair = measured(example_plan(3)[1]);
    EXPECT_THROW(store_.put_pair(old, pair), LeaseLost);
    EXPECT_THROW(store_.renew(old, 30), LeaseLost);
    EXPECT_THROW(finish(old), LeaseLost);
    EXPECT_THROW(store_.stop(old, "crashed", ""), LeaseLost);
    store_.put_pair(current, pair);
}

TEST_F(StoreTest, AnotherWorkerWithTheSameEpochIsFencedOff) {
    submit();
    const Lease current = claim();
    Lease other = current;
    other.worker = std::string("0") + current.worker.substr(1);
    if (other.worker == current.worker) other.worker[0] = '1';
    const Pair pair = measured(example_plan(3)[1]);
    EXPECT_THROW(store_.put_pair(other, pair), LeaseLost);
    EXPECT_THROW(store_.renew(other, 30), LeaseLost);
    EXPECT_THROW(finish(other), LeaseLost);
    EXPECT_THROW(store_.stop(other, "crashed", ""), LeaseLost);
    store_.put_pair(current, pair);
}

TEST_F(StoreTest, AnExpiredLeaseIsLostEvenBeforeTheRescue) {
    submit();
    const Lease lease = claim(0.05);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_THROW(store_.renew(lease, 30), LeaseLost);
    // 200 ms of grace for the worker to notice first; the server runs both statements at once.
    pqxx::connection connection(database_.url());
    pqxx::work work(connection);
    const auto rescued =
        work.exec("update steady.job set lease_until = clock_timestamp(); select steady.rescue()");
    EXPECT_EQ(rescued[0][0].as<int>(), 0);
}

TEST_F(StoreTest, OneJobPerHost) {
    submit(2, "first-question");
    submit(2, "second-question");
    claim();
    EXPECT_EQ(store_.claim(random_uuid(), host_, 30), std::nullopt);
    const auto other = store_.register_host("ba9876543210", {});
    EXPECT_NE(store_.claim(random_uuid(), other, 30), std::nullopt);
    EXPECT_THROW(sql("update steady.job set state='running', worker=gen_random_uuid(), "
                     "lease_until=now(), host_id=1"),
                 pqxx::unique_violation);
}

TEST_F(StoreTest, ClaimAskedTwiceByOneWorkerIsOneClaim) {
    submit();
    const Lease lease = claim();
    const Lease again = claim();
    EXPECT_EQ(again.epoch, lease.epoch);
    EXPECT_EQ(again.job, lease.job);
}

TEST_F(StoreTest, HigherPriorityGoesFirstAndAgeCatchesUp) {
    const Spec low = example_spec("low-priority"), high = example_spec("high-priority");
    store_.submit({.spec = &low, .plan = example_plan(1), .need_tags = {}});
    const auto urgent =
        store_.submit({.spec = &high, .plan = example_plan(1), .priority = 5, .need_tags = {}});
    EXPECT_EQ(store_.list_queue()[0].id, urgent.id);
    sql("update steady.job set queued_at = queued_at - interval '4 hours' where priority = 0");
    EXPECT_EQ(claim().id.substr(0, 3), "low");
}

TEST_F(StoreTest, TagsChooseTheHost) {
    const Spec spec = example_spec();
    store_.submit({.spec = &spec, .plan = example_plan(1), .need_tags = {"gpu"}});
    EXPECT_EQ(store_.claim(worker_, host_, 30), std::nullopt);
    const auto gpu = store_.register_host("gpuhost00000", {"gpu", "avx512"});
    EXPECT_NE(store_.claim(random_uuid(), gpu, 30), std::nullopt);
}

TEST_F(StoreTest, AMeasuredJobStaysOnItsHost) {
    submit();
    const Lease lease = claim();
    const auto other = store_.register_host("ba9876543210", {});
    store_.put_pair(lease, measured(example_plan(3)[1]));
    EXPECT_EQ(store_.stop(lease, "released", ""), "queued");
    EXPECT_EQ(store_.claim(random_uuid(), other, 30), std::nullopt);
    EXPECT_EQ(claim().job, lease.job);
}

TEST_F(StoreTest, AnUnmeasuredJobMayMove) {
    submit();
    store_.stop(claim(), "released", "");
    const auto other = store_.register_host("ba9876543210", {});
    EXPECT_NE(store_.claim(random_uuid(), other, 30), std::nullopt);
}

TEST_F(StoreTest, FinishIsOnceAndSkipsNoPair) {
    submit(3);
    const Lease lease = claim();
    store_.put_pair(lease, measured(example_plan(3)[2]));  // number 1, number 0 is open
    EXPECT_THROW(finish(lease), RecordConflict);
    store_.put_pair(lease, measured(example_plan(3)[1]));
    finish(lease);
    finish(lease);  // the answer was lost: asking again is safe
    EXPECT_THROW(store_.finish(lease, "reject", "", "{}", "No."), LeaseLost);
    EXPECT_THROW(sql("insert into steady.verdict values (1, 'reject', null, '{}', 1)"),
                 pqxx::unique_violation);
    EXPECT_EQ(store_.claim(worker_, host_, 30), std::nullopt);
}

TEST_F(StoreTest, CancelEndsAWaitingJobAndAsksARunningOne) {
    const auto job = submit();
    EXPECT_EQ(store_.cancel(job.id), "cancelled");
    EXPECT_EQ(store_.requeue(job.id), "queued");
    const Lease lease = claim();
    EXPECT_FALSE(store_.renew(lease, 30));
    EXPECT_EQ(store_.cancel(job.id), "running");
    EXPECT_TRUE(store_.renew(lease, 30));
    EXPECT_THROW(finish(lease), JobCancelled);
    EXPECT_EQ(store_.stop(lease, "cancelled", "asked by a person"), "cancelled");
    EXPECT_EQ(store_.load_record(job.id).note, "asked by a person");
}

TEST_F(StoreTest, APoisonJobIsParkedWithItsText) {
    const auto job = submit();
    std::string state;
    for (int i = 0; i < 5; ++i) {
        sql("update steady.job set run_after = clock_timestamp()");
        worker_ = random_uuid();
        state = store_.stop(claim(), "crashed", fmt::format("signal 11, time {}", i));
    }
    EXPECT_EQ(state, "failed");
    const auto record = store_.load_record(job.id);
    EXPECT_EQ(record.note, "signal 11, time 4");
    EXPECT_EQ(record.attempts.size(), 5U);
    EXPECT_EQ(record.attempts[2].how, "crashed");
}

TEST_F(StoreTest, ASealedPairShowsThatTheJobIsNotPoison) {
    submit(9);
    for (int i = 0; i < 7; ++i) {
        sql("update steady.job set run_after = clock_timestamp()");
        worker_ = random_uuid();
        const Lease lease = claim();
        store_.put_pair(lease, measured(example_plan(9)[static_cast<std::size_t>(i)]));
        EXPECT_EQ(store_.stop(lease, "crashed", "killed"), "queued");
    }
}

TEST_F(StoreTest, ANewWorkerOnTheSameHostReclaimsAtOnce) {
    submit();
    const Lease lost = claim(3600);
    const std::string next = random_uuid();
    EXPECT_EQ(store_.rescue(), 0);
    EXPECT_EQ(store_.reclaim(host_, next, {worker_}), 1);
    EXPECT_NE(store_.claim(next, host_, 30), std::nullopt);
    EXPECT_THROW(store_.renew(lost, 30), LeaseLost);
}

TEST_F(StoreTest, AChangedMachineIsNamed) {
    submit();
    const Lease lease = claim();
    EXPECT_TRUE(store_.put_fingerprint(lease, {{"cpu", "x"}, {"kernel", "1"}}).empty());
    store_.put_pair(lease, measured(example_plan(3)[1]));
    store_.stop(lease, "released", "");
    EXPECT_THAT(store_.put_fingerprint(claim(), {{"cpu", "x"}, {"kernel", "2"}, {"new", "1"}}),
                ::testing::ElementsAre("kernel", "new"));
}

TEST_F(StoreTest, HistoryIsOfOneHostMetricModeAndModel) {
    submit(1, "first-question");
    const Lease first = claim();
    store_.put_aa(first, 1, "decode_tps", Mode::duet, "small.gguf", {0, 1, 2, 3, 4, 5},
                  {0.01, -0.01, 0.02, -0.02, 0.005, 0.0});
    finish(first);
    submit(1, "second-question");
    const Lease second = claim();
    store_.put_aa(second, 1, "decode_tps", Mode::duet, "large.gguf", {0}, {0.5});
    const auto known = [&](const char* host, const char* metric, Mode mode, const char* model) {
        return store_.host_history(host, metric, mode, model);
    };
    const auto small = known("0123456789ab", "decode_tps", Mode::duet, "small.gguf");
    EXPECT_THAT(small.aa_pairs, ::testing::ElementsAre(0.01, -0.01, 0.02, -0.02, 0.005, 0.0));
    ASSERT_TRUE(small.sigma0.has_value());
    EXPECT_NEAR(*small.sigma0, 1.482602218505602 * 0.01, 0.005);
    EXPECT_EQ(known("0123456789ab", "decode_tps", Mode::duet, "large.gguf").aa_pairs.size(), 1U);
    EXPECT_TRUE(
        known("0123456789ab", "decode_tps", Mode::process_pairs, "small.gguf").aa_pairs.empty());
    EXPECT_TRUE(known("0123456789ab", "ttft_ns", Mode::duet, "small.gguf").aa_pairs.empty());
    EXPECT_TRUE(known("other", "decode_tps", Mode::duet, "small.gguf").aa_pairs.empty());
}

// Noise of a GPU is kept apart from the CPU's on the same host, and from another GPU's.
TEST_F(StoreTest, HistoryIsOfOneModelOfGpu) {
    const auto measure = [&](const char* id, const char* gpu, double d) {
        std::string text = example_spec(id).canonical;
        const std::string kernels = R"("kernels":{"q4_0_matvec":)";
        for (std::size_t at = 0; *gpu != '\0' && (at = text.find(kernels, at)) != text.npos;) {
            const std::string device = R"("engine_flags":{"device":"cuda:1"},)";
            text.insert(at, device);
            at += device.size() + kernels.size();
        }
        const Spec spec = std::move(*parse_spec(text, id).spec);
        store_.submit(
            {.spec = &spec, .plan = example_plan(1), .seed = 42, .need_tags = {}, .commits = {}});
        const Lease lease = claim();
        store_.put_fingerprint(lease,
                               {{"cpu_model", "x"}, {"gpu0_name", "other"}, {"gpu1_name", gpu}});
        store_.put_aa(lease, 1, "decode_tps", Mode::duet, "m.gguf", {0}, {d});
        finish(lease);
    };
    measure("on-the-cpu", "", 0.1);
    measure("on-one-gpu", "NVIDIA H100", 0.2);
    measure("on-another-gpu", "NVIDIA H200", 0.3);
    const auto known = [&](const char* gpu) {
        return store_.host_history("0123456789ab", "decode_tps", Mode::duet, "m.gguf", gpu)
            .aa_pairs;
    };
    EXPECT_THAT(known(""), ::testing::ElementsAre(0.1));
    EXPECT_THAT(known("NVIDIA H100"), ::testing::ElementsAre(0.2));
    EXPECT_THAT(known("NVIDIA H200"), ::testing::ElementsAre(0.3));
    EXPECT_THAT(known("other"), ::testing::IsEmpty());
}

TEST_F(StoreTest, WhatAVerdictRestsOnStaysWithIt) {
    const std::string id = submit(1).id;
    const Lease lease = claim();
    EXPECT_FALSE(store_.load_record(id).evidence.prior.has_value());
    const Prior prior{{.sigma0 = 1e-17, .aa_pairs = {0.1, -1.0 / 3}}, {"before"}, -0.5, 1.0 / 7};
    store_.put_evidence(lease, "prior", nlohmann::json(prior).dump());
    store_.put_aa(lease, 1, "decode_tps", Mode::duet, "m.gguf", {0}, {0.5});
    const Record record = store_.load_record(id);
    ASSERT_TRUE(record.evidence.prior.has_value());
    EXPECT_EQ(nlohmann::json(*record.evidence.prior), nlohmann::json(prior));
    EXPECT_EQ(record.earlier, prior.attempts);
}

TEST_F(StoreTest, TheRecordIsWhole) {
    store_.cancel(submit(2).id);
    const auto rerun = submit(2, "example-spec", true);
    const auto lease = store_.claim(worker_, host_, 30, rerun.job);
    ASSERT_TRUE(lease.has_value());
    store_.put_fingerprint(*lease, {{"cpu_model", "test"}});
    store_.put_evidence(*lease, "correctness",
                        R"({"nonce":"n","positions":32,"top1_agree":1.0,"kl":0.0,"kl_max":0.0,)"
                        R"("max_abs":0.0,"rel_l2":0.0,"non_finite":false})");
    for (const auto& pair : example_plan(2)) store_.put_pair(*lease, measured(pair));
    store_.set_journal_path(rerun.id, "journal/2026-01-01-" + rerun.id + ".md");
    const auto record = store_.load_record("last");
    EXPECT_EQ(record.id, rerun.id);
    EXPECT_EQ(record.rerun, 1);
    EXPECT_EQ(record.state, "running");
    EXPECT_EQ(record.seed, 42U);
    EXPECT_EQ(record.spec.sha256, example_spec().sha256);
    EXPECT_EQ(record.spec_text, example_spec().canonical);
    EXPECT_EQ(record.pairs.size(), 3U);
    EXPECT_EQ(record.evidence.correctness->positions, 32);
    EXPECT_EQ(record.attempts.at(0).fingerprint.at("cpu_model"), "test");
    EXPECT_EQ(record.earlier.size(), 1U);
    EXPECT_EQ(record.journal_path, "journal/2026-01-01-" + rerun.id + ".md");
    EXPECT_THAT(record.submitted_at, ::testing::MatchesRegex("20..-..-..T..:..:...*Z"));
}

TEST_F(StoreTest, ReferencesResolve) {
    const auto first = submit(1, "first-question");
    const auto second = submit(1, "second-question");
    EXPECT_EQ(store_.resolve("last"), second.id);
    EXPECT_EQ(store_.resolve("first-question"), first.id);
    EXPECT_EQ(store_.resolve(first.id.substr(0, 8)), first.id);
    try {
        store_.resolve("question");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(second.id));
    }
}

TEST_F(StoreTest, ListsArePagedNewestFirst) {
    for (const char* id : {"question-1", "question-2", "question-3"}) submit(1, id);
    const auto page = store_.list_experiments({}, 2);
    ASSERT_EQ(page.size(), 2U);
    EXPECT_EQ(page[0].spec_id, "question-3");
    const auto rest = store_.list_experiments({}, 2, page.back().cursor);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].planned, 2);
    ExperimentFilter filter;
    filter.spec_id = "question-2";
    EXPECT_EQ(store_.list_experiments(filter, 10).size(), 1U);
}

TEST_F(StoreTest, SamplesAreAppendOnly) {
    submit();
    store_.put_pair(claim(), measured(example_plan(3)[1]));
    EXPECT_THROW(sql("update steady.sample set vals = '{1}'"), pqxx::sql_error);
    EXPECT_THROW(sql("delete from steady.sample"), pqxx::sql_error);
}

TEST_F(StoreTest, MigratingAgainDoesNothingAndAChangedFileIsRefused) {
    EXPECT_TRUE(migrate(database_.url()).empty());
    sql("update steady.migration set sha256 = 'x' where name = '0002_tables.sql'");
    EXPECT_THROW(migrate(database_.url()), Error);
    sql("delete from steady.migration where name = '0002_tables.sql'");
    sql("insert into steady.migration values ('9999_future.sql', 'x')");
    EXPECT_THROW(migrate(database_.url()), Error);
}

TEST_F(StoreTest, ARestartOfTheServerIsRiddenOut) {
    submit();
    store_.connection().set_patience(20);
    const Lease lease = claim(60);
    ThrowawayDatabase::kill_server();
    std::jthread restarter([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ThrowawayDatabase::restart_server();
    });
    store_.put_pair(lease, measured(example_plan(3)[1]));
    EXPECT_EQ(store_.load_pairs(lease.job, false).size(), 1U);
}

TEST_F(StoreTest, APasswordIsNeverShown) {
    EXPECT_EQ(without_password("postgresql://kim:secret@db/x?password=more&a=b"),
              "postgresql://kim:***@db/x?password=***&a=b");
}

TEST_F(StoreTest, AnUnbalancedSeedGivesWayToTheNextBalancedOne) {
    Spec spec = example_spec();
    std::uint64_t seed = 1;
    while (coin_audit(spec, {}, seed).status != "fail") ASSERT_LT(++seed, 20000U);
    spec.schedule.seed = seed;
    const Record stored = store_.load_record(submit_experiment(store_, spec).id);
    EXPECT_EQ(stored.seed, fair_seed(spec, seed));
}

}  // namespace
}  // namespace steady
