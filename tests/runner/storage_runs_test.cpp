// A run has an identity of its own: runs of one question on unlike machines lie side by side in one
// database, in whatever order they came, and a database from before runs had ids keeps all it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/base/sha256.h"
#include "runner/record/record_json.h"
#include "runner/storage/archive.h"
#include "runner/storage/archive_form.h"
#include "runner/storage/migrate.h"
#include "runner/storage/runs_of.h"
#include "runner/storage/search.h"
#include "tests/runner/storage_fixture.h"
#include "tests/support/other_machine.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class RunsTest : public StoreTest {
protected:
    std::string decided(Verdict verdict, bool fresh = false, const std::string& id = "asked") {
        submit(3, id, fresh);
        const Lease lease = claim();
        store_.put_fingerprint(
            lease,
            {{"cpu_model", "EPYC"}, {"cpu_class", "amd-25-avx2"}, {"steady_revision", "aaaa"}});
        for (const Pair& pair : example_plan(3)) store_.put_pair(lease, measured(pair));
        Analysis analysis;
        analysis.verdict = verdict;
        analysis.metric = "decode_tps";
        analysis.effect = 0.02;
        store_.finish(lease, name(verdict), "", Json(analysis).dump(), "Yes.");
        return lease.id;
    }

    std::string exported(const std::string& id, const std::string& url = {}) {
        Connection connection({.url = url.empty() ? database_.url() : url,
                               .role = DatabaseRole::owner,
                               .client = "t"});
        return export_archive(connection, {{id, "# Entry\n"}});
    }
    static Imported import_into(const std::string& url, const std::string& text) {
        Connection connection({.url = url, .role = DatabaseRole::owner, .client = "t"});
        return import_archive(connection, text).at(0);
    }
    static std::vector<steady::Run> runs(const std::string& url, const std::string& question) {
        Connection connection({.url = url, .role = DatabaseRole::web, .client = "t"});
        std::vector<steady::Run> out;
        connection.transact([&](pqxx::transaction_base& transaction) {
            out = page::runs_of(transaction, question);
        });
        return out;
    }
    static Json without_ids(std::vector<steady::Run> all) {
        for (steady::Run& run : all) run.id.clear();
        return runs_json(all);
    }
};

TEST_F(RunsTest, OneQuestionOnTwoMachinesIsTwoRuns) {
    const std::string id = decided(Verdict::accept);
    const std::string amd = exported(id), intel = on_other_machine(amd, {.verdict = "reject"});
    const Imported further = import_into(database_.url(), intel);
    EXPECT_TRUE(further.created);
    EXPECT_EQ(further.id, id + "-r" + further.run.substr(0, 8));

    const Record here = store_.load_record(id), there = store_.load_record(further.id);
    EXPECT_NE(here.run_id, there.run_id);
    EXPECT_EQ(there.run_id, further.run);
    EXPECT_EQ(here.question_sha, there.question_sha);
    EXPECT_EQ(there.published, id) << "its entry and record keep the id that they have elsewhere";
    EXPECT_EQ(here.analysis->verdict, Verdict::accept) << "stored beside it, never over it";
    EXPECT_EQ(there.analysis->verdict, Verdict::reject);
    EXPECT_EQ(there.pairs.size(), here.pairs.size()) << "each with samples of its own";
    EXPECT_EQ(store_.resolve(further.run), further.id) << "found by the run's id";
    EXPECT_EQ(exported(further.id), intel) << "exported as it came";

    const std::vector<steady::Run> both = runs(database_.url(), here.question_sha);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(summary_of(both).text, "differs by CPU class: 1 accept on amd-25-avx2, 1 reject on " +
                                         OtherMachine{}.cpu_class);
    for (const steady::Run& run : both) {
        const bool imported = run.id == further.id;
        EXPECT_EQ(run.cpu, imported ? "Xeon" : "EPYC");
        EXPECT_EQ(run.revision, imported ? "bbbb" : "aaaa");
        EXPECT_EQ(run.host, imported ? "ba9876543210" : "0123456789ab");
        EXPECT_EQ(run.record_sha.empty(), !imported);
        EXPECT_EQ(run.published, id);
    }
}

TEST_F(RunsTest, TheOrderOfImportsDoesNotMatter) {
    const std::string id = decided(Verdict::accept);
    const std::string amd = exported(id), intel = on_other_machine(amd, {});
    const std::string question = store_.load_record(id).question_sha;
    const ThrowawayDatabase one, two;
    for (const std::string* text : {&amd, &intel}) import_into(one.url(), *text);
    for (const std::string* text : {&intel, &amd}) import_into(two.url(), *text);
    EXPECT_EQ(without_ids(runs(one.url(), question)), without_ids(runs(two.url(), question)));
    EXPECT_EQ(summary_of(runs(one.url(), question)).text, "agrees (2 runs, 2 classes)");
    for (const std::string& url : {one.url(), two.url()}) {
        for (const std::string* text : {&amd, &intel}) {
            const Imported again = import_into(url, *text);
            EXPECT_FALSE(again.created) << "the very same run";
            EXPECT_EQ(exported(again.id, url), *text);
        }
        EXPECT_EQ(runs(url, question).size(), 2U);
    }
}

TEST_F(RunsTest, ARunWithAnotherContentIsRefusedUnderEveryName) {
    const std::string id = decided(Verdict::accept);
    const std::string amd = exported(id), intel = on_other_machine(amd, {});
    import_into(database_.url(), intel);
    auto forged = archive::from_text(intel);
    forged[0].content["samples"][0][7][0] = 123456.0;
    try {
        import_into(database_.url(), archive::to_text(forged));
        ADD_FAILURE() << "two contents of one run";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("this very run"));
        EXPECT_THAT(error.what(), HasSubstr("another content (samples)"));
    }
    EXPECT_EQ(runs(database_.url(), store_.load_record(id).question_sha).size(), 2U);
}

TEST_F(RunsTest, ARunOfAnotherDatabaseNeverAnswersForAFileThatIsSubmittedHere) {
    const std::string id = decided(Verdict::accept);
    const std::string amd = exported(id);
    const ThrowawayDatabase other;
    import_into(other.url(), amd);
    Store there({.url = other.url(), .role = DatabaseRole::owner, .client = "test"});
    const Spec spec = example_spec("asked");
    const auto ask = [&](bool fresh) {
        return there.submit({.spec = &spec,
                             .plan = example_plan(3),
                             .seed = 7,
                             .fresh_rerun = fresh,
                             .need_tags = {}});
    };
    const auto own = ask(false);
    EXPECT_TRUE(own.created) << "an imported verdict is of another run";
    EXPECT_EQ(own.id, id + "-2");
    EXPECT_FALSE(ask(false).created);
    EXPECT_EQ(ask(true).job, own.job) << "it waits, and is the further run";
    EXPECT_EQ(there.decided_on("0123456789ab", spec), id)
        << "decided on that host, wherever stored";
    EXPECT_EQ(there.decided_on("ba9876543210", spec), "");
}

TEST_F(RunsTest, TheSearchFindsAQuestionOnceWithAllItsRuns) {
    const std::string id = decided(Verdict::accept);
    const std::string intel = on_other_machine(exported(id), {.verdict = "reject"});
    import_into(database_.url(), intel);
    const auto find = [&](const std::string& words) {
        search::Findings found;
        store_.connection().transact([&](pqxx::transaction_base& transaction) {
            found = search::find(transaction, words, 10);
        });
        return found.rows;
    };
    const auto rows = find("asked");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].runs.size(), 2U);
    EXPECT_EQ(summary_of(rows[0].runs).agreement, Agreement::differs_by_class);
    EXPECT_EQ(find("asked intel-6-amx").at(0).verdict, "reject") << "the run that has the words";
    EXPECT_EQ(find("asked intel-6-amx").at(0).runs.size(), 2U);

    // Records that only lie in the checkout count as runs; imported ones are not counted twice.
    const ThrowawayDatabase fresh;
    Connection connection({.url = fresh.url(), .role = DatabaseRole::owner, .client = "t"});
    const std::vector<search::Shipped> files = {{"experiments/records/a.steady.json", exported(id)},
                                                {"experiments/records/b.steady.json", intel}};
    const auto learned = [&] {
        std::vector<steady::Run> out;
        connection.transact([&](pqxx::transaction_base& transaction) {
            search::learn(transaction, files);
            out = page::runs_of(transaction, store_.load_record(id).question_sha);
        });
        return out;
    };
    EXPECT_EQ(learned().size(), 2U);
    EXPECT_EQ(learned().at(0).id, "");
    import_into(fresh.url(), intel);
    const std::vector<steady::Run> after = learned();
    ASSERT_EQ(after.size(), 2U);
    EXPECT_EQ(std::count_if(after.begin(), after.end(),
                            [](const steady::Run& run) { return run.id != ""; }),
              1);
    for (const steady::Run& run : after) EXPECT_THAT(run.file, HasSubstr("experiments/records/"));
}

// A database of its own that has the migrations before `next` only.
std::string database_before(const std::string& next, const std::string& some_url) {
    const std::size_t begin = some_url.find("/test_"), end = some_url.find('?');
    const std::string name = "older_" + random_hex(4);
    const auto of = [&](const std::string& database) {
        return some_url.substr(0, begin) + "/" + database + some_url.substr(end);
    };
    {
        pqxx::connection admin(of("template1"));
        pqxx::nontransaction(admin).exec("create database " + name);
    }
    pqxx::connection connection(of(name));
    pqxx::work work(connection);
    work.exec(
        "create schema steady; create table steady.migration(name text primary key, "
        "sha256 text not null, applied_at timestamptz not null default clock_timestamp())");
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(std::string(STEADY_SOURCE_DIR) +
                                                                "/runner/storage/migrations")) {
        if (file.path().filename().string() < next) files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        const std::string text = read_file(file.string());
        work.exec(text);
        work.exec_params("insert into steady.migration(name, sha256) values ($1, $2)",
                         file.filename().string(), sha256_hex(text));
    }
    work.commit();
    return of(name);
}

TEST_F(RunsTest, ADatabaseFromBeforeRunsHadIdsKeepsAllItHas) {
    const std::string old = database_before("0110_runs.sql", database_.url());
    store_ = Store({.url = old, .role = DatabaseRole::owner, .client = "test"});
    host_ = store_.register_host("0123456789ab", {});
    const std::string first = decided(Verdict::accept);
    const std::string second = decided(Verdict::reject, true);
    const std::string waits = submit(3, "waits").id;
    const auto counted = [&] {
        pqxx::connection connection(old);
        pqxx::work work(connection);
        return std::string(work.exec1("select string_agg(name, ' ' order by exp_id) || "
                                      "(select count(*) from steady.sample) from "
                                      "steady.experiment")[0]
                               .c_str());
    };
    const std::string before = counted();
    EXPECT_EQ(migrate(old).at(0), "0110_runs.sql");
    EXPECT_EQ(counted(), before) << "names and samples";
    EXPECT_EQ(second, first + "-2");
    const Record one = store_.load_record(first), two = store_.load_record(second);
    EXPECT_EQ(one.run_id.size(), 16U);
    EXPECT_NE(one.run_id, two.run_id);
    EXPECT_EQ(two.earlier, std::vector<std::string>{first});
    const std::vector<steady::Run> all = runs(old, one.question_sha);
    EXPECT_EQ(all.size(), 3U) << "the same question in another file waits";
    EXPECT_EQ(
        summary_of(all).text,
        "differs on one class: 1 accept and 1 reject on amd-25-avx2; 1 run without an answer");
    EXPECT_EQ(claim().id, waits) << "the queue goes on";
    // Another database gives the same record the same id.
    const Imported moved = import_into(database_.url(), exported(second, old));
    EXPECT_EQ(moved.run, two.run_id);
    EXPECT_EQ(moved.id, second);
}

}  // namespace
}  // namespace steady
