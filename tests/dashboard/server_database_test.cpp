// The page over a real PostgreSQL: rows come back as they are, writes need their token, hostile
// text stays text, and the page's role can do no more than it should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "dashboard/server/source_store.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/record/record_json.h"
#include "runner/spec/spec.h"
#include "runner/storage/archive.h"
#include "runner/storage/pqxx.h"
#include "runner/storage/service.h"
#include "runner/storage/store.h"
#include "tests/dashboard/fake_source.h"
#include "tests/dashboard/hostile_strings.h"
#include "tests/support/other_machine.h"
#include "tests/support/seed_records.h"
#include "tests/support/throwaway_database.h"

namespace steady::web {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OverDatabase : public ::testing::Test {
protected:
    OverDatabase() {
        seed_records({.url = database_.url(), .n_experiments = 24, .n_samples = 500});
        Store store({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
        const auto token = [&](const std::string& name, std::vector<std::string> scopes) {
            store.create_token({name, sha256_hex(name + "-secret"), std::move(scopes), {}, {}});
        };
        token("submit", {"submit"});
        token("cancel", {"cancel"});
        token("commands", {"submit", "commands"});
    }
    std::string get(const std::string& target) {
        return exchange(server_.port(), get_request(target));
    }
    json get_json(const std::string& target) {
        const std::string answer = get(target);
        EXPECT_EQ(status_of(answer), 200) << target << ": " << answer.substr(0, 2000);
        return json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
    }
    std::string post(const std::string& target, const std::string& body, const std::string& token) {
        std::string request = "POST " + target +
                              " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                              "Content-Type: application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n";
        if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
        return exchange(server_.port(), request + "\r\n" + body);
    }
    static std::string spec_text(const std::string& claim) {
        const json text = {{"id", "hostile-question"},
                           {"owner", claim.substr(0, 40)},
                           {"hypothesis",
                            {{"claim", claim},
                             {"because", claim},
                             {"predict", {{"metric", "decode_tps"}, {"change", {"+1%", "+2%"}}}}}},
                           {"subject",
                            {{"program", "steady-engine"},
                             {"model", "tiny-glm.gguf"},
                             {"workload", "prose-512"},
                             {"threads", 2}}},
                           {"arms",
                            {{"A", {{"kernels", {{"rms_norm", "reference"}}}}},
                             {"B", {{"kernels", {{"rms_norm", "avx2"}}}}}}},
                           {"expect_diff", {"kernels.rms_norm"}},
                           {"gates",
                            {{{"id", "tokens"},
                              {"level", "correctness"},
                              {"role", "guard"},
                              {"need", {{"top1_agree", ">=0.99"}}}},
                             {{"id", "decode"},
                              {"level", "model"},
                              {"role", "decides"},
                              {"metric", "decode_tps"},
                              {"worth", "1%"}}}}};
        return text.dump(-1, ' ', false, json::error_handler_t::replace);
    }

    ThrowawayDatabase database_;
    RunningDashboard server_{{}, {}, store_source(database_.url())};
};

TEST_F(OverDatabase, EveryPageHasItsData) {
    const json overview = get_json("/index.json");
    ASSERT_EQ(overview["rows"].size(), 22u) << "24, of which two are self-tests";
    EXPECT_EQ(overview["queue"].size(), 4u);
    EXPECT_EQ(overview["hosts"].size(), 2u);
    std::string id;
    for (const json& row : overview["rows"]) {
        if (row["verdict"] == "accept") id = row["id"];
    }
    ASSERT_FALSE(id.empty());
    const json one = get_json("/x/" + id + ".json");
    EXPECT_EQ(one["analysis"]["verdict"], "accept");
    EXPECT_GT(one["analysis"]["effect"].get<double>(), 0.01);
    EXPECT_EQ(one["change"]["ran"].size(), 1u);
    EXPECT_EQ(one["profile"]["arms"].size(), 2u);
    const json pairs = get_json("/x/" + id + "/pairs.json");
    EXPECT_EQ(pairs["pairs"].size(), one["analysis"]["pairs"].get<std::size_t>());
    EXPECT_EQ(get_json("/x/" + id + "/record.json")["id"], id);
    for (const char* name : {"intervals", "pairs", "profile"}) {
        EXPECT_THAT(get("/x/" + id + "/figure/" + name + ".svg"), HasSubstr("<svg")) << name;
    }
    const std::string slug = one["slug"];
    EXPECT_THAT(get("/j/" + slug), HasSubstr("<article>"));
    EXPECT_THAT(get("/j/" + slug + ".md"), HasSubstr(id));
    EXPECT_THAT(get("/x/" + id + ".md"), HasSubstr(id));
    const json kernels = get_json("/kernels.json")["rows"];
    EXPECT_GT(kernels.size(), 5u);
    for (const json& row : kernels) {
        EXPECT_THAT(row["model"].get<std::string>(), HasSubstr(".gguf"));
        EXPECT_EQ(row["read_gb_per_s"], row["op"] == "rope" ? 0 : 38.4) << row;
    }
    EXPECT_GT(get_json("/owners.json")["rows"].size(), 1u);
    EXPECT_EQ(get_json("/hosts.json")["hosts"][0]["noise"][0]["metric"], "decode_tps");
    EXPECT_EQ(get_json("/compare/" + id + "..." + id + ".json")["environment"].size(), 0u);
    EXPECT_EQ(get_json("/x/" + id + "/events.json")["state"], "done");
    EXPECT_EQ(status_of(get("/x/no-such-thing.json")), 404);
    const std::string nowhere = get("/nowhere");
    EXPECT_EQ(status_of(nowhere), 404);
    EXPECT_THAT(nowhere, HasSubstr("there is nothing at this address"));
    const std::string reader = exchange(server_.port(),
                                        "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                        "close\r\nAccept: text/html\r\n\r\n");
    EXPECT_EQ(status_of(reader), 404);
    EXPECT_THAT(reader, HasSubstr("<nav"));
    EXPECT_EQ(get_json("/submit.json")["$schema"], "http://json-schema.org/draft-07/schema#");
}

TEST_F(OverDatabase, FindsWhatLiesBehindTheNewestPages) {
    {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(
            "insert into steady.experiment (name, spec_id, spec_sha, question_sha, spec, "
            "spec_text, "
            "seed) select 'later-' || g, 'later', sha256(g::text::bytea), question_sha, spec, "
            "spec_text, seed from generate_series(1, 100) g, "
            "(select * from steady.experiment limit 1) any_one");
        work.exec(
            "insert into steady.job (exp_id) select exp_id from steady.experiment "
            "where spec_id = 'later'");
        work.commit();
    }
    const json found = get_json("/experiments.json?verdict=accept&limit=1");
    ASSERT_EQ(found["rows"].size(), 1u);
    EXPECT_EQ(found["rows"][0]["verdict"], "accept");
    EXPECT_EQ(get_json("/experiments.json?limit=200")["rows"].size(), 122u);
    const std::string id = found["rows"][0]["id"];
    for (const std::string filter : {"", "&verdict=accept", "&state=done"}) {
        const json by_words = get_json("/experiments.json?limit=1&q=" + id + filter);
        ASSERT_EQ(by_words["rows"].size(), 1u) << filter;
        EXPECT_EQ(by_words["rows"][0]["id"], id);
    }
    EXPECT_EQ(get_json("/experiments.json?verdict=reject&limit=1&q=" + id)["rows"].size(), 0u);
}

TEST_F(OverDatabase, FiltersAndPagesAgree) {
    const json accepted = get_json("/experiments.json?verdict=accept");
    for (const json& row : accepted["rows"]) EXPECT_EQ(row["verdict"], "accept");
    EXPECT_EQ(get_json("/experiments.json?state=queued")["rows"].size(), 3u);
    const json first = get_json("/experiments.json?limit=10");
    ASSERT_EQ(first["rows"].size(), 10u);
    const json second = get_json("/experiments.json?limit=10&before=" + first["next"].dump());
    EXPECT_NE(first["rows"][9]["id"], second["rows"][0]["id"]);
    EXPECT_EQ(status_of(get("/experiments.json?verdict=maybe")), 400);
    EXPECT_EQ(status_of(get("/experiments.json?limit=100000")), 400);
    const json found = get_json("/j.json?q=fus+experts");
    EXPECT_GT(found["rows"].size(), 0u);
    for (const json& row : found["rows"])
        EXPECT_THAT(row["id"].get<std::string>(), HasSubstr("fused"));
    EXPECT_EQ(get_json("/tried.json?q=nobodytriedthis")["rows"].size(), 0u);
}

TEST_F(OverDatabase, SubmitAndCancelNeedTheirTokens) {
    const std::string text = spec_text("A claim that is long enough");
    EXPECT_EQ(status_of(post("/api/experiments", text, "")), 401);
    EXPECT_EQ(status_of(post("/api/experiments", text, "wrong")), 401);
    EXPECT_EQ(status_of(post("/api/experiments", text, "cancel-secret")), 403);
    const std::size_t before = get_json("/experiments.json?state=queued")["rows"].size();
    const std::string made = post("/api/experiments", text, "submit-secret");
    ASSERT_EQ(status_of(made), 201) << made;
    EXPECT_EQ(get_json("/experiments.json?state=queued")["rows"].size(), before + 1) << "at once";
    EXPECT_EQ(status_of(post("/api/experiments", text, "submit-secret")), 200)
        << "same file, same job";
    const std::string id = json::parse(made.substr(made.find("\r\n\r\n") + 4))["id"];
    EXPECT_EQ(get_json("/x/" + id + ".json")["state"], "queued");
    EXPECT_EQ(status_of(post("/api/experiments/" + id + "/cancel", "{}", "submit-secret")), 403);
    EXPECT_THAT(post("/api/experiments/" + id + "/cancel", "{}", "cancel-secret"),
                HasSubstr("cancelled"));
    EXPECT_EQ(status_of(post("/api/experiments", "{\"id\": 1}", "submit-secret")), 422);
    EXPECT_THAT(post("/api/validate", "{\"id\": 1}", ""), HasSubstr("\"pointer\":\"/id\""));
}

// A program of others waits for a worker whose owner registered it; any command needs a right.
TEST_F(OverDatabase, FreeCommandsNeedTheirScope) {
    const json arm = {{"rev", "main"}, {"run", {"./bench"}}};
    json spec = json::parse(spec_text("A claim that is long enough"));
    spec["id"] = "outside-question";
    spec["subject"] = {{"program", "outside"}, {"name", "parser"}, {"repo", "parser"}};
    spec["arms"] = {{"A", arm}, {"B", {{"rev", "idea"}, {"run", {"./bench"}}}}};
    spec["expect_diff"] = {"rev"};
    spec["hypothesis"].erase("predict");
    spec["gates"] = json::array(
        {{{"id", "output"}, {"level", "correctness"}, {"role", "guard"}, {"need", {{"exit", 0}}}},
         {{"id", "speed"}, {"level", "model"}, {"role", "decides"}, {"metric", "wall_seconds"}}});
    spec["schedule"] = {{"mode", "process_pairs"}, {"pairs", {{"max", 10}}}};
    const auto waiting = store_source(database_.url())();
    const auto tags_of = [&](const std::string& answer) {
        const std::string id = json::parse(answer.substr(answer.find("\r\n\r\n") + 4))["id"];
        for (const auto& row : waiting->queue()) {
            if (row.id == id) return json(row.need_tags).dump();
        }
        return std::string("not queued");
    };
    const std::string named = post("/api/experiments", spec.dump(), "submit-secret");
    ASSERT_EQ(status_of(named), 201) << named;
    EXPECT_EQ(tags_of(named), R"(["program:parser"])");
    spec["id"] = "free-question";
    const std::string free = "/api/experiments?commands=1";
    EXPECT_EQ(status_of(post(free, spec.dump(), "submit-secret")), 403);
    const std::string allowed = post(free, spec.dump(), "commands-secret");
    ASSERT_EQ(status_of(allowed), 201) << allowed;
    EXPECT_EQ(tags_of(allowed), R"(["commands"])");
}

// The page says so while the file is typed, by the answer of every file that no worker can run.
TEST_F(OverDatabase, ASweepIsNoJob) {
    json sweep = json::parse(spec_text("A claim that is long enough"));
    sweep["sweep"] = {{"axes", {{"kernels.rms_norm", {"reference", "avx2"}}}}, {"screen_pairs", 3}};
    const std::string answer = post("/api/experiments", sweep.dump(), "submit-secret");
    EXPECT_EQ(status_of(answer), 422) << answer;
    EXPECT_THAT(answer, HasSubstr("several experiments"));
    EXPECT_THAT(post("/api/validate", sweep.dump(), "submit-secret"), HasSubstr("steady sweep"));
}

TEST_F(OverDatabase, TheLogNamesTheToken) {
    const std::string made =
        post("/api/experiments", spec_text("A claim that is long enough"), "submit-secret");
    const std::string id = json::parse(made.substr(made.find("\r\n\r\n") + 4))["id"];
    post("/api/experiments/" + id + "/cancel", "{}", "cancel-secret");
    Connection owner({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
    const auto log = service::audit_log(owner, 10, id);
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[1].what + " by " + log[1].actor, "submitted by token submit");
    EXPECT_EQ(log[0].what + " by " + log[0].actor, "cancelled by token cancel");
}

// What a load balancer asks, while the database goes away and comes back.
TEST_F(OverDatabase, ReadinessFollowsTheDatabase) {
    const auto becomes = [&](const char* path, const std::string& wanted) {
        std::string answer;
        for (int i = 0; i < 300; ++i) {
            answer = get(path);
            if (answer.find(wanted) != std::string::npos) return std::string();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return answer;
    };
    EXPECT_EQ(becomes("/readyz", "200 OK"), "");
    EXPECT_EQ(becomes("/metrics", "steady_queue_depth 3\n"), "");
    EXPECT_EQ(becomes("/metrics", "steady_jobs_running 1\n"), "");
    ThrowawayDatabase::kill_server();
    EXPECT_EQ(becomes("/readyz", "503 Service Unavailable"), "");
    EXPECT_EQ(becomes("/healthz", "degraded"), "");
    EXPECT_EQ(becomes("/metrics", "steady_database_up 0"), "");
    ThrowawayDatabase::restart_server();
    EXPECT_EQ(becomes("/readyz", "200 OK"), "");
}

// A login that is nothing but the page's can serve to others too.
TEST_F(OverDatabase, ThePagesRoleKnowsWhetherATokenExists) {
    {
        pqxx::connection connection(database_.url());
        pqxx::work work(connection);
        work.exec(
            "drop role if exists page_login; create role page_login login; "
            "grant steady_web to page_login");
        work.commit();
    }
    std::string url = database_.url();
    url.replace(url.find("user=steady"), 11, "user=page_login");
    EXPECT_TRUE(has_token(url));
    EXPECT_NO_THROW(store_source(url)());
}

TEST_F(OverDatabase, HostileTextComesBackUnchanged) {
    int n = 0;
    for (const char* hostile : kHostile) {
        const std::string text = spec_text(std::string(hostile) + " and enough more");
        const std::string made = post("/api/validate", text, "");
        ASSERT_EQ(status_of(made), 200) << hostile;
        const json reply = json::parse(made.substr(made.find("\r\n\r\n") + 4));
        if (!reply["valid"].get<bool>())
            continue;  // control characters may be refused by the decoder
        EXPECT_EQ(reply["plan"]["claim"], std::string(hostile) + " and enough more");
        ++n;
    }
    EXPECT_GT(n, 40);
    const std::string made = post(
        "/api/experiments", spec_text("<script>steady_pwned=1</script> long"), "submit-secret");
    ASSERT_EQ(status_of(made), 201) << made;
    EXPECT_THAT(made, ::testing::Not(HasSubstr("<script>")));
}

TEST_F(OverDatabase, SeriesMachinesAndAudit) {
    const json rows = get_json("/s.json")["rows"];
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0]["open_changes"], 1) << "what needs eyes stands first";
    const std::string name = rows[0]["name"];
    const json one = get_json("/s/" + name + ".json");
    EXPECT_EQ(one["points"].size(), 240u);
    ASSERT_GE(one["changes"].size(), 1u);
    EXPECT_THAT(one["changes"][0]["compare"].get<std::string>(), HasSubstr("/compare/"));
    EXPECT_EQ(get_json("/s/" + name + ".json?limit=10")["points"].size(), 10u);
    EXPECT_THAT(get("/s/" + name + ".svg"), HasSubstr("<svg"));
    EXPECT_THAT(get("/s/" + name + ".md"), HasSubstr(name));
    EXPECT_EQ(status_of(get("/s/nosuch.json")), 404);
    EXPECT_EQ(status_of(get("/s/" + name + ".json?limit=0")), 400);

    const json audit = get_json("/aa.json");
    ASSERT_GE(audit["audits"].size(), 1u);
    EXPECT_LT(audit["audits"][0]["accepts"], audit["audits"][0]["runs"]);
    EXPECT_GT(audit["audits"][0]["upper_95"].get<double>(), 0);
    ASSERT_GE(audit["planted"].size(), 1u);
    EXPECT_EQ(audit["planted"][0]["wrong"], false);

    const json workers = get_json("/w.json")["workers"];
    ASSERT_EQ(workers.size(), 2u);
    const std::string host = workers[0]["host"];
    EXPECT_GT(workers[0]["done"].get<int>(), 0);
    EXPECT_EQ(get_json("/w/" + host + ".json")["workers"].size(), 1u);
    EXPECT_EQ(status_of(get("/w/nosuch.json")), 404);
}

TEST_F(OverDatabase, AnAlertIsListedAndTriaged) {
    const json alerts = get_json("/alerts.json")["alerts"];
    ASSERT_GE(alerts.size(), 1u);
    EXPECT_FALSE(alerts[0]["again"].get<std::string>().empty());
    const std::string path = "/api/alerts/" + alerts[0]["id"].dump();
    const std::string good = json{{"state", "acknowledged"}, {"owner", "kim"}}.dump();
    EXPECT_EQ(status_of(post(path, good, "")), 401);
    EXPECT_EQ(status_of(post(path, good, "cancel-secret")), 403);
    EXPECT_EQ(status_of(post(path, "{\"state\":\"maybe\"}", "submit-secret")), 400);
    EXPECT_EQ(status_of(post("/api/alerts/999999", good, "submit-secret")), 404);
    EXPECT_EQ(status_of(post(path, good, "submit-secret")), 200);
    const json acknowledged = get_json("/alerts.json?state=acknowledged");
    for (const json& one : acknowledged["alerts"]) {
        if (one["id"] != alerts[0]["id"]) continue;
        EXPECT_EQ(one["owner"], "kim");
        EXPECT_THAT(one["triaged_by"].get<std::string>(), ::testing::HasSubstr("token"));
        return;
    }
    FAIL() << "the alert is not acknowledged";
}

TEST_F(OverDatabase, TwoCommitsAreComparedWithinEachSeries) {
    const std::string name = get_json("/s.json")["rows"][0]["name"];
    const json points = get_json("/s/" + name + ".json")["points"];
    const std::string a = points[0]["commit"], b = points[points.size() - 1]["commit"];
    const json rows = get_json("/revisions/" + a.substr(0, 12) + "..." + b + ".json")["rows"];
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["series"]["name"], name);
    EXPECT_NEAR(
        rows[0]["change"].get<double>(),
        points[points.size() - 1]["ratio"].get<double>() / points[0]["ratio"].get<double>() - 1,
        1e-9);
    EXPECT_EQ(status_of(get("/revisions/x...y.json")), 400);
    EXPECT_EQ(status_of(get("/revisions/" + a + ".json")), 400);
}

TEST_F(OverDatabase, TriageIsCheckedAndKept) {
    const std::string name = get_json("/s.json")["rows"][0]["name"];
    const std::string id = get_json("/s/" + name + ".json")["changes"][0]["id"].dump();
    const std::string path = "/api/series/" + name + "/changes/" + id;
    const std::string note = "<script>steady_pwned=1</script>'; drop table steady.series; --";
    const std::string good = json{{"state", "confirmed"}, {"owner", "kim"}, {"note", note}}.dump();
    EXPECT_EQ(status_of(post(path, good, "")), 401);
    EXPECT_EQ(status_of(post(path, good, "cancel-secret")), 403);
    EXPECT_EQ(status_of(post(path, good, "submit-secret")), 200);
    const json kept = get_json("/s/" + name + ".json?limit=999")["changes"][0];
    EXPECT_EQ(kept["state"], "acknowledged") << "the word of earlier versions is taken, too";
    EXPECT_EQ(kept["note"], note);
    for (const char* bad : {"[]", "", "{\"state\":\"maybe\"}", "{\"state\":1}", "{\"x\":1}",
                            "{\"state\":\"new\",\"note\":\"a\\u0000b\"}"}) {
        EXPECT_EQ(status_of(post(path, bad, "submit-secret")), 400) << bad;
    }
    const std::string other = "/api/series/" + name + "/changes/";
    EXPECT_EQ(status_of(post(other + "999999", good, "submit-secret")), 404);
    EXPECT_EQ(status_of(post(other + "1x", good, "submit-secret")), 400);
}

// A decided run, and the record of the same file from another machine.
TEST_F(OverDatabase, OnePageShowsARunAndThoseOfOtherMachines) {
    Store store({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
    const std::string worker = random_uuid();
    const auto host = store.register_host("0123456789ab", {});
    const Spec spec = example_spec("two-machines", "Two machines answer");
    const auto job =
        store.submit({.spec = &spec, .plan = example_plan(3), .seed = 1, .need_tags = {}}).job;
    const auto lease = store.claim(worker, host, 30, job);
    ASSERT_TRUE(lease.has_value());
    store.put_fingerprint(
        *lease, {{"cpu_model", "EPYC"}, {"cpu_class", "amd-25-avx2"}, {"steady_revision", "aaaa"}});
    for (const Pair& pair : example_plan(3)) store.put_pair(*lease, measured(pair));
    Analysis analysis;
    analysis.verdict = Verdict::accept;
    store.finish(*lease, "accept", "", json(analysis).dump(), "Yes.");
    const json shown = get_json("/x/" + lease->id + ".json"), alone = shown["runs"];
    EXPECT_EQ(alone["summary"], "never repeated");
    EXPECT_EQ(shown["checked"], false) << "only its worker has computed it";
    service::check_verdict(store.connection(), shown["job"], "", "");
    EXPECT_EQ(get_json("/x/two-machines.json")["checked"], true);

    Connection owner({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
    const std::string there =
        on_other_machine(export_archive(owner, {{lease->id, ""}}), {.verdict = "reject"});
    const std::string handle = import_archive(owner, there).at(0).id;
    const json one = get_json("/x/" + handle + ".json");
    EXPECT_EQ(one["analysis"]["verdict"], "reject");
    ASSERT_EQ(one["runs"]["count"], 2);
    EXPECT_EQ(
        one["runs"]["summary"],
        "differs by CPU class: 1 accept on amd-25-avx2, 1 reject on " + OtherMachine{}.cpu_class);
    std::set<std::string> ids, cpus;
    for (const json& run : one["runs"]["runs"]) {
        ids.insert(run["id"]);
        cpus.insert(run["cpu"]);
        EXPECT_EQ(run["published"], lease->id);
        EXPECT_EQ(run["run"] == one["run"], run["id"] == handle);
    }
    EXPECT_EQ(ids, (std::set<std::string>{lease->id, handle}));
    EXPECT_EQ(cpus, (std::set<std::string>{"EPYC", "Xeon"}));
    const json found = get_json("/j.json?q=two-machines")["rows"];
    ASSERT_EQ(found.size(), 1u) << "one row per question";
    EXPECT_EQ(found[0]["runs"], 2);
    EXPECT_EQ(found[0]["together"], one["runs"]["summary"]);
    // The entry is that of the run whose address it has, and names the other by its address here.
    const std::string slug = std::string(one["decided_at"]).substr(0, 10) + "-" + handle;
    const std::string entry = get("/j/" + slug + ".md");
    EXPECT_THAT(entry, HasSubstr("verdict: reject"));
    EXPECT_THAT(entry, HasSubstr("## Runs of this question"));
    EXPECT_THAT(entry, HasSubstr("-" + lease->id + ".md)"));
}

TEST_F(OverDatabase, SuiteRunsStayOutOfTheListUntilAskedFor) {
    Connection connection({.url = database_.url(), .role = DatabaseRole::owner, .client = "test"});
    connection.transact([](pqxx::transaction_base& transaction) {
        transaction.exec("update steady.experiment set spec_id = 'watch-x' where exp_id = 3");
    });
    EXPECT_EQ(get_json("/experiments.json?limit=100")["rows"].size(), 21u);
    EXPECT_EQ(get_json("/experiments.json?limit=100&suite=1")["rows"].size(), 24u);
    EXPECT_EQ(status_of(get("/experiments.json?suite=2")), 400);
}

TEST_F(OverDatabase, InjectionFindsNothingToInject) {
    const std::string attack = "%27%3B%20drop%20table%20steady.job%3B%20--";
    for (const char* field :
         {"verdict", "state", "owner", "metric", "host", "q", "before", "limit"}) {
        const int status = status_of(get(std::string("/experiments.json?") + field + "=" + attack));
        EXPECT_THAT(status, ::testing::AnyOf(200, 400)) << field;
    }
    EXPECT_EQ(status_of(get("/x/" + attack + ".json")), 404);
    EXPECT_EQ(status_of(get("/j.json?q=" + attack)), 200);
    EXPECT_EQ(status_of(get("/j.json?q=%26%7C!%3A*%28%29%27")), 200);
    EXPECT_EQ(get_json("/index.json")["rows"].size(), 22u);
}

TEST_F(OverDatabase, ThePagesRoleCannotWriteTables) {
    Connection connection({.url = database_.url(), .role = DatabaseRole::web, .client = "test"});
    for (const char* statement : {"update steady.job set priority = 1", "delete from steady.sample",
                                  "select * from steady.token",
                                  "insert into steady.verdict (job_id, outcome, analysis, epoch) "
                                  "values (1, 'accept', '{}', 1)",
                                  "select steady.finish(1, null, 1, 'accept', null, '{}', '')"}) {
        EXPECT_THROW(connection.transact(
                         [&](pqxx::transaction_base& transaction) { transaction.exec(statement); }),
                     Error)
            << statement;
    }
}

TEST_F(OverDatabase, MadeUpRecordsNeverMixWithTrueOnes) {
    EXPECT_THROW(seed_records({.url = database_.url(), .n_experiments = 1}), Error);
}

}  // namespace
}  // namespace steady::web
