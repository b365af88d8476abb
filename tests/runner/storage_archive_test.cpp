// Experiments between two databases: the same to the byte, imported once, and a file that is torn,
// forged or hostile changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "runner/judge/gpu_clocks.h"
#include "runner/record/record_json.h"
#include "runner/storage/archive.h"
#include "runner/storage/archive_form.h"
#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ArchiveTest : public StoreTest {
protected:
    ArchiveTest() {
        worked("first-question", false);
        id_ = worked("example-spec", false);
        worked("example-spec", true);
        store_.stop(failed(), "failed", "the engine \"went\" away: \xE2\x9C\x97\n");
        text_ = exported(database_, {{id_, "# An entry\n\nwith notes\n"}});
    }

    std::string worked(const std::string& id, bool fresh) {
        submit(3, id, fresh);
        const Lease lease = claim();
        store_.put_fingerprint(lease, {{"cpu_model", "x \"y\""}, {"steady_revision", "1"}});
        store_.put_evidence(
            lease, "prior",
            nlohmann::json(Prior{{.sigma0 = {}, .aa_pairs = {0.1, -1.0 / 3}}, {"before"}, 0, 0})
                .dump());
        store_.put_evidence(lease, "progress", R"({"effect": 1e-17, "pairs": 1})");
        store_.put_aa(lease, 1, "decode_tps", Mode::duet, "tiny.gguf", {0, 1}, {1.0 / 7, -0.01});
        auto plan = example_plan(3);
        Pair discarded = measured(plan[2]);
        discarded.discarded = "noise";
        Pair on_gpu = measured(plan[1]);
        on_gpu.a[kSmClock] = {1980, 1965, 1980};
        on_gpu.b[kSmClock] = {1980, 1980, 1755};
        store_.put_pair(lease, measured(plan[0]));
        store_.put_pair(lease, on_gpu);
        store_.put_pair(lease, discarded, "0101");
        store_.finish(lease, "inconclusive", "", Json(Analysis{}).dump(), "No answer.");
        return lease.id;
    }

    Lease failed() {
        submit(2, "failed-one");
        const Lease lease = claim();
        store_.put_pair(lease, measured(example_plan(2)[1]));
        return lease;
    }

    static std::string exported(const ThrowawayDatabase& database,
                                const std::vector<Archived>& which) {
        Connection connection({.url = database.url(), .role = DatabaseRole::owner, .client = "t"});
        return export_archive(connection, which);
    }
    static std::vector<Imported> imported(const ThrowawayDatabase& database,
                                          const std::string& text) {
        Connection connection({.url = database.url(), .role = DatabaseRole::owner, .client = "t"});
        return import_archive(connection, text);
    }
    static int rows(const ThrowawayDatabase& database) {
        pqxx::connection connection(database.url());
        pqxx::work work(connection);
        return work
            .exec1(
                "select (select count(*) from steady.experiment) + (select count(*) from "
                "steady.host) + (select count(*) from steady.sample)")[0]
            .as<int>();
    }

    // The archive with its content changed and its hash made right again.
    std::string forged(const std::function<void(Json& content)>& change) const {
        auto experiments = archive::from_text(text_);
        change(experiments[0].content);
        return archive::to_text(experiments);
    }
    void expect_refused(const std::string& text, const std::string& says) {
        const ThrowawayDatabase other;
        try {
            imported(other, text);
            ADD_FAILURE() << "imported, should say: " << says;
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr(says));
            EXPECT_EQ(error.exit_code, kExitUsage) << error.what();
        }
        EXPECT_EQ(rows(other), 0) << says;
    }

    std::string id_, text_;
};

TEST_F(ArchiveTest, ComesBackToTheByte) {
    const std::string failed_id = store_.resolve("failed-one");
    const std::string both = exported(database_, {{id_, "# Entry\n"}, {failed_id, ""}});
    const ThrowawayDatabase other;
    const auto first = imported(other, both);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_TRUE(first[0].created && first[1].created);
    EXPECT_EQ(exported(other, {{id_, "# Entry\n"}, {failed_id, ""}}), both);
    for (const auto& again : imported(other, both)) EXPECT_FALSE(again.created);
    Store there({.url = other.url(), .role = DatabaseRole::owner, .client = "test"});
    for (const auto& id : {id_, failed_id}) {
        Json here = store_.load_record(id), moved = there.load_record(id);
        here.erase("job");
        moved.erase("job");
        EXPECT_EQ(here, moved);
    }
    EXPECT_EQ(there.load_record(id_).earlier.size(), 1U) << "though it is not here itself";
    EXPECT_EQ(there.load_record(id_).evidence.prior->history.aa_pairs.at(1), -1.0 / 3);
    EXPECT_EQ(there.load_record(failed_id).earlier.size(), 3U) << "though they are not here";
    EXPECT_EQ(
        there.host_history("0123456789ab", "decode_tps", Mode::duet, "tiny.gguf").aa_pairs.at(0),
        1.0 / 7);
    EXPECT_EQ(there.load_record(id_).pairs.at(1).b.at(kSmClock),
              (std::vector<double>{1980, 1980, 1755}))
        << "clocks of a GPU go along";
    EXPECT_EQ(list_archive(both).at(0).entry, "# Entry\n");
    EXPECT_EQ(there.requeue(failed_id), "queued") << "and can go on here";
}

TEST_F(ArchiveTest, AnotherRunOfThatNameIsNotTouched) {
    const ThrowawayDatabase other;
    imported(other, text_);
    const std::string changed =
        forged([](Json& content) { content["samples"][0][7][0] = 123456.0; });
    try {
        imported(other, changed);
        FAIL() << "two contents under one name";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another content (samples)"));
    }
    EXPECT_EQ(exported(other, {{id_, "# An entry\n\nwith notes\n"}}), text_);
}

TEST_F(ArchiveTest, WhatIsNotFinishedStaysWhereItIs) {
    submit(2, "still-waiting");
    EXPECT_THROW(exported(database_, {{store_.resolve("still-waiting"), ""}}), Error);
}

TEST_F(ArchiveTest, EveryTornOrChangedFileIsRefused) {
    expect_refused("", "no JSON");
    expect_refused("{}", "no \"format\"");
    expect_refused(text_.substr(0, text_.size() / 2), "no JSON");
    expect_refused(std::string(2000, '['), "nested deeper");
    int n_refused = 0;
    for (std::size_t at = 7; at < text_.size(); at += 37) {
        std::string changed = text_;
        changed[at] = changed[at] == '7' ? '8' : '7';
        try {
            list_archive(changed);
        } catch (const Error&) {
            ++n_refused;
            continue;
        }
        // A compressed frame may have a bit that changes nothing of what comes out.
        const ThrowawayDatabase there;
        imported(there, changed);
        EXPECT_EQ(exported(there, {{id_, "# An entry\n\nwith notes\n"}}), text_)
            << "byte " << at << " changed unseen: " << changed.substr(at - 7, 20);
    }
    EXPECT_GT(n_refused, 50);
}

TEST_F(ArchiveTest, AForgedContentIsRefused) {
    using Change = std::function<void(Json&)>;
    const std::vector<std::pair<std::string, Change>> changes{
        {"its id name", [](Json& c) { c["experiment"]["name"] = "../../etc/passwd"; }},
        {"its id name", [](Json& c) { c["experiment"]["question_sha"] = std::string(64, 'a'); }},
        {"its spec is refused", [](Json& c) { c["experiment"]["spec_text"] = "{}"; }},
        {"state \"running\"", [](Json& c) { c["experiment"]["state"] = "running"; }},
        {"one verdict", [](Json& c) { c["verdict"] = Json::array(); }},
        {"disagree", [](Json& c) { c["verdict"][0]["outcome"] = "accept"; }},
        {"\"extra\" is unknown", [](Json& c) { c["extra"] = 1; }},
        {"refuses its content", [](Json& c) { c["samples"][0][7][0] = -1.0; }},
        {"refuses its content", [](Json& c) { c["samples"][0][2] = 77; }},
        {"refuses its content", [](Json& c) { c["pairs"][0]["coins"] = "'; drop table x; --"; }},
        {"refuses its content", [](Json& c) { c["experiment"]["submitted_at"] = "yesterweek"; }},
        {"refuses its content", [](Json& c) { c["attempts"][0]["host"] = nullptr; }},
        {"refuses its content", [](Json& c) { c["pairs"].push_back(c["pairs"][0]); }},
        {"not be stored as written", [](Json& c) { c["pairs"][0]["surprise"] = 1; }},
        {"not be stored as written",
         [](Json& c) { c["evidence"][1]["body"] = "{\"a\":1,\"a\":2}"; }},
        {"not be stored as written", [](Json& c) { c["experiment"]["queued_at"] = "2026-01-01"; }},
        {"archive: ", [](Json& c) { c["attempts"][0]["fingerprint"] = "{\"cpu\":{\"deep\":1}}"; }},
        {"archive: ", [](Json& c) { c["verdict"][0]["analysis"] = "{\"verdict\":\"accept\"}"; }},
        {"archive: ", [](Json& c) { c["pairs"] = 5; }},
    };
    for (const auto& [says, change] : changes) expect_refused(forged(change), says);
}

TEST_F(ArchiveTest, CompressedSamplesCannotExhaustMemory) {
    Json in = Json::parse(text_);
    const auto with = [&](const std::string& samples) {
        in["experiments"][0]["samples"] = samples;
        return in.dump();
    };
    expect_refused(with(""), "no base64");
    expect_refused(with("####"), "no base64");
    expect_refused(with("AAAA"), "no zstd frame");
    // A frame header that promises 1 TB: magic, single segment with 8-byte size.
    expect_refused(with("KLUv/eAAAAAAAAEAAA=="), "no zstd frame of a stated size");
}

}  // namespace
}  // namespace steady
