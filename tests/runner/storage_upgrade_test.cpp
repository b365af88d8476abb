// A schema of each age, filled through the functions that it had, is brought up to date while a
// worker holds a job: decided experiments stay as they were, the held job goes on under its lease,
// and the waiting one is taken.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runner/base/sha256.h"
#include "runner/platform/embedded.h"
#include "runner/record/record_json.h"
#include "runner/storage/dashboard_queries.h"
#include "runner/storage/migrate.h"
#include "runner/storage/service.h"
#include "tests/runner/storage_fixture.h"

namespace steady {

std::span<const EmbeddedFile> storage_migrations();

namespace {

constexpr std::size_t kFirstWhole = 4;  // roles, tables, functions, rights

std::vector<EmbeddedFile> all_files() {
    const auto all = storage_migrations();
    std::vector<EmbeddedFile> files(all.begin(), all.end());
    std::sort(files.begin(), files.end(),
              [](const auto& x, const auto& y) { return x.name < y.name; });
    return files;
}

class Upgrade : public ::testing::TestWithParam<std::size_t> {
protected:
    Upgrade() {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(
            "drop schema steady cascade; create schema steady; create table steady.migration(name "
            "text primary key, sha256 text not null, applied_at timestamptz not null default "
            "clock_timestamp())");
        const auto files = all_files();
        for (std::size_t i = 0; i < GetParam(); ++i) {
            work.exec(std::string(files[i].bytes));
            work.exec_params("insert into steady.migration(name, sha256) values($1, $2)",
                             std::string(files[i].name), sha256_hex(files[i].bytes));
        }
        work.commit();
    }
    Submitted submit(const std::string& id) {
        const Spec spec = example_spec(id);
        return store_.submit(
            {.spec = &spec, .plan = example_plan(3), .seed = 42, .need_tags = {}, .commits = {}});
    }
    Lease claim(const std::string& worker) {
        const auto lease = store_.claim(worker, host_, 600);
        if (!lease) throw Error{"nothing to claim"};
        return *lease;
    }
    void decide(const Lease& lease) {
        store_.finish(lease, "inconclusive", "", nlohmann::json(Analysis{}).dump(), "No answer.");
    }

    ThrowawayDatabase database_;
    Store store_{{.url = database_.url(), .role = DatabaseRole::owner, .client = "test"}};
    std::int64_t host_ = 0;
};

TEST_P(Upgrade, KeepsItsContentAndItsRunningJob) {
    host_ = store_.register_host("0123456789ab", {"avx512"});
    const std::string decided_id = submit("decided-one").id;
    const Lease first = claim(random_uuid());
    store_.put_fingerprint(first, {{"cpu_model", "x"}, {"steady_revision", "1"}});
    const auto plan = example_plan(3);
    Pair discarded = measured(plan[2]);
    discarded.discarded = "noise";
    for (std::size_t i : {0U, 1U}) store_.put_pair(first, measured(plan[i]));
    store_.put_pair(first, discarded, "0101");
    decide(first);
    const std::string held_id = submit("held-one").id;
    const Lease held = claim(random_uuid());
    store_.put_fingerprint(held, {{"cpu_model", "x"}, {"steady_revision", "1"}});
    store_.put_pair(held, measured(plan[0]));
    const std::string waiting_id = submit("waiting-one").id;

    EXPECT_EQ(migrate(database_.url()).size(), all_files().size() - GetParam());

    const Record decided = store_.load_record(decided_id);
    EXPECT_EQ(decided.state, "done");
    EXPECT_EQ(decided.spec.id, "decided-one");
    ASSERT_TRUE(decided.analysis.has_value());
    EXPECT_EQ(nlohmann::json(*decided.analysis), nlohmann::json(Analysis{}));
    ASSERT_EQ(decided.pairs.size(), 3U);
    for (const Pair& pair : decided.pairs) {
        Pair wanted = pair;
        wanted.a.clear();
        wanted.b.clear();
        wanted = measured(wanted);
        EXPECT_EQ(pair.a.at("token_ns"), wanted.a.at("token_ns"));
        EXPECT_EQ(pair.b.at("token_ns"), wanted.b.at("token_ns"));
    }
    EXPECT_EQ(decided.run_id.size(), 16U);
    EXPECT_EQ(decided.attempts.at(0).fingerprint.at("cpu_model"), "x");

    EXPECT_FALSE(store_.renew(held, 600)) << "the worker's lease stands";
    for (std::size_t i : {1U, 2U, 3U}) store_.put_pair(held, measured(plan[i]));
    decide(held);
    EXPECT_EQ(store_.load_record(held_id).pairs.size(), 4U);
    EXPECT_EQ(claim(random_uuid()).id, waiting_id);
    store_.connection().transact(
        [](pqxx::transaction_base& work) { EXPECT_EQ(page::list(work, {}).rows.size(), 3U); });
    EXPECT_EQ(service::state(store_.connection()).running, 1);
}

// STEADY_EVERY_SCHEMA=1: each; else some, the oldest and the newest among them.
std::vector<std::size_t> ages() {
    const std::size_t last = all_files().size(),
                      step = std::getenv("STEADY_EVERY_SCHEMA") != nullptr
                                 ? 1
                                 : std::max<std::size_t>(1, (last - kFirstWhole) / 4);
    std::vector<std::size_t> all;
    for (std::size_t n = kFirstWhole; n < last; n += step) all.push_back(n);
    all.push_back(last);
    return all;
}

INSTANTIATE_TEST_SUITE_P(FromEachSchema, Upgrade, ::testing::ValuesIn(ages()), [](const auto& age) {
    std::string name(all_files()[age.param - 1].name);
    name = name.substr(0, name.rfind('.'));
    return name;
});

}  // namespace
}  // namespace steady
