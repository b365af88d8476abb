// Steady as a service: what each role may do to each table, who is written down for it, which
// verdicts are believed, and how a schema changes under a team.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "runner/base/sha256.h"
#include "runner/record/record_json.h"
#include "runner/storage/migrate.h"
#include "runner/storage/service.h"
#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

// What the README says, written down apart from the migrations.
const std::map<std::string, std::set<std::string>> kFunctions = {
    {"steady_worker",
     {"bisections_of",
      "claim",
      "decline_entry",
      "end_bisection",
      "finish",
      "is_measurement",
      "paired_samples",
      "pairs_of",
      "put_aa",
      "put_evidence",
      "put_fingerprint",
      "put_samples",
      "read_record",
      "reclaim",
      "register_host",
      "renew",
      "report_host",
      "rescue",
      "runs_of",
      "samples_of",
      "seal_pair",
      "set_journal_path",
      "stop",
      "take_bisection"}},
    {"steady_web",
     {"add_series_note",  "any_token",          "ask_bisection", "bisections_of",  "cancel",
      "cancel_bisection", "is_measurement",     "list_page",     "paired_samples", "pairs_of",
      "read_record",      "remove_series_note", "requeue",       "runs_of",        "samples_of",
      "service_state",    "set_priority",       "submit",        "token_name",     "token_scopes",
      "triage",           "triage_alert",       "who_did"}},
    {"steady_submitter",
     {"bisections_of", "cancel", "is_measurement", "paired_samples", "pairs_of", "read_record",
      "requeue", "runs_of", "samples_of", "set_priority", "submit"}}};
const std::set<std::string> kClosed = {"token", "audit_log"};
const std::set<std::string> kOfThePage = {"alert", "alert_change", "alert_delivery"};

class ServiceTest : public StoreTest {
protected:
    // True when the statement was carried out; false: no right to it. Nothing is kept.
    bool may(const std::string& role, const std::string& statement) {
        pqxx::work work(asking());
        work.exec("set local role " + role);
        try {
            work.exec(statement);
        } catch (const pqxx::insufficient_privilege&) {
            return false;
        } catch (const pqxx::sql_error&) {  // allowed, and refused by what it would do
        }
        return true;
    }
    std::vector<std::string> list(const std::string& query) {
        pqxx::work work(asking());
        std::vector<std::string> found;
        for (const auto& row : work.exec(query)) found.emplace_back(row[0].c_str());
        return found;
    }
    std::string one(const std::string& query) { return list(query).at(0); }
    std::string experiment(const Submitted& submitted) { return submitted.id; }
    // A job with one sealed pair and the verdict that its worker chose to store.
    Submitted decided(const std::string& outcome = "accept") {
        const Submitted submitted = submit(1);
        const Lease lease = claim();
        for (const Pair& pair : example_plan(1)) store_.put_pair(lease, measured(pair));
        store_.finish(lease, outcome, "", nlohmann::json(Analysis{}).dump(), "Yes.");
        return submitted;
    }
    Connection& connection() { return store_.connection(); }

private:
    // One for all questions of a test: PostgreSQL starts a process for each.
    pqxx::connection& asking() {
        if (!asking_) asking_.emplace(database_.url());
        return *asking_;
    }
    std::optional<pqxx::connection> asking_;
};

TEST_F(ServiceTest, EveryRoleOnEveryTableByEveryVerb) {
    int checked = 0;
    for (const auto& [role, functions] : kFunctions) {
        for (const std::string& table : list("select tablename from pg_tables where schemaname = "
                                             "'steady' order by 1")) {
            const std::string column =
                one(fmt::format("select attname from pg_attribute where attrelid = "
                                "'steady.{}'::regclass and attnum > 0 and not attisdropped and "
                                "attidentity = '' and attgenerated = '' order by attnum limit 1",
                                table));
            const std::map<std::string, std::string> verbs = {
                {"select", "select * from steady.{0} limit 0"},
                {"insert", "insert into steady.{0} default values"},
                {"update", "update steady.{0} set {1} = {1} where false"},
                {"delete", "delete from steady.{0} where false"},
                {"truncate", "truncate steady.{0} cascade"}};
            for (const auto& [verb, statement] : verbs) {
                const bool allowed = verb == "select" && !kClosed.contains(table) &&
                                     (role == "steady_web" || !kOfThePage.contains(table));
                EXPECT_EQ(may(role, fmt::format(fmt::runtime(statement), table, column)), allowed)
                    << role << " " << verb << " " << table;
                ++checked;
            }
        }
    }
    EXPECT_GE(checked, 3 * 17 * 5);
}

TEST_F(ServiceTest, EveryRoleHasItsFunctionsAndNoOther) {
    for (const auto& [role, functions] : kFunctions) {
        const auto found =
            list(fmt::format("select distinct proname from pg_proc where pronamespace = "
                             "'steady'::regnamespace and has_function_privilege('{}', oid, "
                             "'execute') order by 1",
                             role));
        EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), functions) << role;
        EXPECT_FALSE(may(role, "create table steady.mine (x int)")) << role;
        EXPECT_FALSE(may(role, "alter table steady.job disable trigger all")) << role;
    }
}

TEST_F(ServiceTest, AWorkerCannotForgeAVerdict) {
    const std::string forged = decided().id;
    for (const char* way :
         {"select steady.check_verdict(1, '', '')", "insert into steady.verdict_check values (1)",
          "update steady.verdict set outcome = 'accept'", "delete from steady.verdict_check"}) {
        EXPECT_FALSE(may("steady_worker", way)) << way;
        EXPECT_FALSE(may("steady_web", way)) << way;
    }
    Store worker = make(DatabaseRole::worker);
    EXPECT_FALSE(service::may_check_verdicts(worker.connection()));
    ASSERT_TRUE(service::may_check_verdicts(connection()));
    const auto unchecked = service::unchecked_verdicts(connection());
    ASSERT_EQ(unchecked.size(), 1U);
    EXPECT_EQ(unchecked[0].id, forged);
    EXPECT_EQ(service::checked_at(connection(), unchecked[0].job), "");
    EXPECT_FALSE(store_.load_record(forged).checked);

    service::check_verdict(connection(), unchecked[0].job, "reject (regression)", "");
    EXPECT_TRUE(service::unchecked_verdicts(connection()).empty());
    EXPECT_EQ(one("select state from steady.job"), "failed");
    EXPECT_EQ(one("select count(*) from steady.verdict"), "0");
    EXPECT_EQ(one("select body ->> 'outcome' from steady.evidence where kind = 'refuted verdict'"),
              "accept");
    EXPECT_THAT(store_.load_record(forged).note, HasSubstr("refuted"));
    EXPECT_EQ(store_.requeue(forged), "queued") << "its samples stay, and are judged again";
    EXPECT_EQ(service::audit_log(connection(), 10, forged).at(1).what, "verdict refuted");
}

// "retention" would say that a made-up verdict's samples are gone and cannot be judged again,
// "origin" would name another experiment's entry.
TEST_F(ServiceTest, AWorkerStoresOnlyEvidenceThatItMeasures) {
    submit(1);
    const Lease lease = claim();
    for (const char* kind : {"retention", "origin", "refuted verdict", "applied of epoch 1", ""}) {
        EXPECT_THROW(store_.put_evidence(lease, kind, R"({"why":"superseded","rows":1})"),
                     RecordConflict)
            << kind;
    }
    store_.put_evidence(lease, "progress", "{}");
    EXPECT_EQ(one("select string_agg(kind, ',') from steady.evidence"), "progress");
}

// The page asks whether there are call stacks, which may be large, and does not read them.
TEST_F(ServiceTest, ARecordSaysWhetherStacksAreStored) {
    const std::string id = submit(1).id;
    const Lease lease = claim();
    EXPECT_FALSE(store_.load_record(id).sampled);
    store_.put_evidence(lease, "stacks", "{}");
    EXPECT_TRUE(store_.load_record(id).sampled);
}

// A worker writes files of an experiment's name.
TEST_F(ServiceTest, NamesThatAreNoFileNamesAreRefused) {
    Store submitter = make(DatabaseRole::web);
    const auto submit_as = [&](const std::string& id) {
        submitter.connection().transact([&](pqxx::transaction_base& work) {
            work.exec_params(
                "select steady.submit($1, sha256($1::text::bytea), sha256('q'), '{}', 1, false, 0, "
                "'{}', '{0}', '{measure}', '{0}', '{1}')",
                id);
        });
    };
    for (const char* id : {"../../tmp/x", "/etc/cron.d/x", "a/b", "..", ".hidden", "with space",
                           "UPPER", "line\nbreak", "-option", ""}) {
        EXPECT_THROW(submit_as(id), Error) << id;
    }
    EXPECT_EQ(one("select count(*) from steady.experiment"), "0");
    submit_as("plain-name");
    EXPECT_EQ(one("select count(*) from steady.experiment"), "1");
}

TEST_F(ServiceTest, AVerdictThatAgreesIsCheckedOnce) {
    const auto submitted = decided();
    service::check_verdict(connection(), submitted.job, "", "");
    EXPECT_TRUE(service::unchecked_verdicts(connection()).empty());
    EXPECT_NE(service::checked_at(connection(), submitted.job), "");
    EXPECT_EQ(store_.load_record(submitted.id).state, "done");
    EXPECT_TRUE(store_.load_record(submitted.id).checked);
}

TEST_F(ServiceTest, AnEntryLiesUnderItsNameInTheJournal) {
    const std::string id = decided().id;
    Store worker = make(DatabaseRole::worker);
    for (const std::string& path :
         {"/etc/passwd"s, "journal/../../etc/passwd"s, "../" + id + ".md",
          "journal/2026-01-01-other.md"s, "journal/2026-01-01-" + id + ".md/../../x.md",
          "journal/2026-01-01-" + id + ".md\n", "journal/sub/2026-01-01-" + id + ".md"s, ""s}) {
        EXPECT_THROW(worker.set_journal_path(id, path), RecordConflict) << path;
    }
    worker.set_journal_path(id, "journal/2026-01-01-" + id + ".md");
    EXPECT_EQ(store_.load_record(id).journal_path, "journal/2026-01-01-" + id + ".md");
}

TEST_F(ServiceTest, AMissingEntryIsKnownAndADeclinedOneIsNot) {
    const auto submitted = decided();
    EXPECT_THAT(service::missing_entries(connection()), ::testing::ElementsAre(submitted.id));
    EXPECT_EQ(service::state(connection()).missing_entries, 1);
    service::decline_entry(connection(), submitted.job);
    EXPECT_TRUE(service::missing_entries(connection()).empty());
}

TEST_F(ServiceTest, TheLogSaysWhoDidWhat) {
    connection().set_actor("cli ann");
    const std::string id = submit().id;
    store_.set_priority(id, 5);
    connection().set_actor("token ci");
    store_.cancel(id);
    connection().set_actor("");
    store_.requeue(id);
    store_.create_token({.name = "ci",
                         .sha256 = sha256_hex("x"),
                         .scopes = {"read"},
                         .created_at = {},
                         .expires_at = {}});
    store_.revoke_token("ci");
    EXPECT_EQ(service::submitter_of(connection(), 1), "cli ann");
    EXPECT_EQ(service::token_name(connection(), sha256_hex("x")), "ci");

    std::string said;
    for (const auto& entry : service::audit_log(connection(), 100, "")) {
        said = fmt::format("{}: {} {}\n", entry.actor, entry.what, entry.subject) + said;
        EXPECT_EQ(entry.login, "steady");
    }
    EXPECT_EQ(said, fmt::format("cli ann: submitted {0}\ncli ann: priority {0}\n"
                                "token ci: cancelled {0}\nsteady: requeued {0}\n"
                                "steady: token created ci\nsteady: token revoked ci\n",
                                id));
    EXPECT_EQ(service::audit_log(connection(), 100, "ci").size(), 2U);
    EXPECT_THROW(sql("delete from steady.audit_log"), pqxx::sql_error);
    EXPECT_THROW(sql("update steady.audit_log set actor = 'nobody'"), pqxx::sql_error);
}

TEST_F(ServiceTest, RenewalsAndClaimsAreNoNews) {
    submit();
    const Lease lease = claim();
    store_.renew(lease, 30);
    store_.stop(lease, "released", "");
    EXPECT_EQ(service::audit_log(connection(), 100, "").size(), 1U) << "submitted, and no more";
}

TEST_F(ServiceTest, TheStateIsWhatTheTablesSay) {
    submit(1, "first-question");
    submit(1, "second-question");
    const Lease lease = claim(20);
    service::report_host(connection(), host_, 5e9);
    Store web = make(DatabaseRole::web);
    service::State state = service::state(web.connection());
    EXPECT_EQ(state.queued, 1);
    EXPECT_EQ(state.running, 1);
    EXPECT_GT(state.lease_left_s, 5);
    EXPECT_LT(state.lease_left_s, 21);
    EXPECT_EQ(state.lease_overdue_s, 0);
    EXPECT_EQ(state.host_free_bytes, 5000000000);
    EXPECT_GT(state.database_bytes, 1000000);
    EXPECT_EQ(state.replay_lag_s, 0);
    store_.stop(lease, "failed", "wrong");
    sql("update steady.job set lease_until = clock_timestamp() - interval '5 s' where state = "
        "'running'");
    state = service::state(web.connection());
    EXPECT_EQ(state.failed, 1);
    EXPECT_EQ(state.failed_1h, 1);
    EXPECT_FALSE(service::any_token(web.connection()));
}

TEST_F(ServiceTest, ASharedDatabaseIsMigratedByHandOnly) {
    ::setenv("STEADY_DATABASE_URL", database_.url().c_str(), 1);
    EXPECT_EQ(database_url(), database_.url());
    sql("delete from steady.migration where name = '0080_service.sql'");
    try {
        database_url();
        ADD_FAILURE() << "it was migrated on the way";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("0080_service.sql"));
        EXPECT_THAT(error.what(), HasSubstr("steady db migrate"));
    }
    EXPECT_EQ(one("select count(*) from steady.migration where name = '0080_service.sql'"), "0");
    sql("drop schema steady cascade");
    try {
        database_url();
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("no Steady schema yet"));
    }
    ::unsetenv("STEADY_DATABASE_URL");
}

TEST_F(ServiceTest, AnOlderBinaryIsRefusedWithWords) {
    sql("insert into steady.migration values ('9999_future.sql', 'x')");
    for (const auto role : {DatabaseRole::worker, DatabaseRole::web}) {
        Store store = make(role);
        try {
            refuse_newer_schema(store.connection());
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("9999_future.sql"));
            EXPECT_THAT(error.what(), HasSubstr("install a newer Steady"));
        }
    }
}

// Two machines of one image carry one name; only one of them can know that the worker is dead.
TEST_F(ServiceTest, AClonedMachineDoesNotTakeWhatAnotherHolds) {
    submit();
    const Lease held = claim(60);
    const std::string clone = random_uuid();
    EXPECT_EQ(store_.reclaim(host_, clone, {}), 0);
    EXPECT_EQ(store_.reclaim(host_, clone, {random_uuid()}), 0);
    EXPECT_EQ(service::running_on(store_.connection(), host_), held.id);
    store_.renew(held, 0.1);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(store_.reclaim(host_, clone, {}), 1) << "a lease that is over protects nobody";
}

// A full disk says nothing about the job: it waits, however often, and is not parked as poison.
TEST_F(ServiceTest, APostponedJobIsNotBlamed) {
    submit();
    for (int i = 0; i < 7; ++i) {
        sql("update steady.job set run_after = clock_timestamp()");
        EXPECT_EQ(store_.stop(claim(), "postponed", "no space left"), "queued");
    }
    EXPECT_EQ(store_.claim(worker_, host_, 30), std::nullopt) << "for a minute nobody takes it";
}

TEST_F(ServiceTest, WhatOnlyAnOperatorCanMendIsToldFromACrash) {
    const auto raise = [&](const char* state) {
        store_.connection().transact([&](pqxx::transaction_base& work) {
            work.exec(
                fmt::format("do $$ begin raise exception 'x' using errcode = '{}'; end $$", state));
        });
    };
    for (const char* state : {"53100", "53200", "57014", "58000", "58030", "58P01"}) {
        EXPECT_THROW(raise(state), DatabaseStrained) << state;
    }
    try {
        raise("22012");
        ADD_FAILURE();
    } catch (const DatabaseGone&) {
        ADD_FAILURE() << "a division by zero is the program's own fault";
    } catch (const Error&) {
    }
}

TEST_F(ServiceTest, TokensLiveAndEnd) {
    Store owner = make(DatabaseRole::owner);
    const std::string sha = sha256_hex("secret");
    owner.create_token({.name = "ci",
                        .sha256 = sha,
                        .scopes = {"read", "submit"},
                        .created_at = {},
                        .expires_at = {}});
    Store web = make(DatabaseRole::web);
    EXPECT_THAT(web.token_scopes(sha), ::testing::ElementsAre("read", "submit"));
    EXPECT_TRUE(web.token_scopes(sha256_hex("other")).empty());
    EXPECT_TRUE(owner.revoke_token("ci"));
    EXPECT_TRUE(web.token_scopes(sha).empty());
    EXPECT_TRUE(owner.list_tokens().at(0).revoked);
}

TEST_F(ServiceTest, RolesHoldOnlyTheirRights) {
    submit();
    Store web = make(DatabaseRole::web);
    EXPECT_EQ(web.list_queue().size(), 1U);
    EXPECT_THROW(web.claim(worker_, host_, 30), Error);
    EXPECT_THROW(web.list_tokens(), Error);
    for (const auto role : {DatabaseRole::web, DatabaseRole::worker}) {
        Connection connection({.url = database_.url(), .role = role, .client = "test"});
        for (const char* statement :
             {"update steady.job set state = 'done'", "delete from steady.sample",
              "insert into steady.verdict values (1, 'accept', null, '{}', 1)",
              "select * from steady.token", "drop table steady.journal",
              "select steady.end_attempt(1, 'failed', '', null)"}) {
            EXPECT_THROW(
                connection.transact([&](pqxx::transaction_base& work) { work.exec(statement); }),
                Error)
                << statement;
        }
    }
}

TEST_F(ServiceTest, NoFunctionIsOpenToEverybody) {
    sql("set role steady_owner; create function steady.made_later() returns int language sql as "
        "'select 1'");
    Connection connection({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
    connection.transact([](pqxx::transaction_base& work) {
        for (const auto& row : work.exec(
                 "select p.oid::regprocedure::text from pg_proc p where pronamespace = "
                 "'steady'::regnamespace and has_function_privilege('public', p.oid, 'execute')")) {
            ADD_FAILURE() << row[0].c_str();
        }
    });
}

}  // namespace
}  // namespace steady
