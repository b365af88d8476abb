// The published schemas of what verbs print with --json, against real outputs. A field that a verb
// prints and its schema does not name is a mistake here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "runner/cli/verbs.h"
#include "tests/support/git_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kSource = STEADY_SOURCE_DIR;

JsonSchema output_schema() {
    return JsonSchema(nlohmann::json::parse(
        std::ifstream(kSource + "/runner/schema/output.v1.schema.json"), nullptr, false));
}

// Texts for a shell, pages and endless verbs.
const std::set<std::string> kWithoutJson = {"completion", "db psql", "disturb", "help",
                                            "manual",     "schema",  "serve",   "worker"};

TEST(ExchangeSchema, EveryVerbThatPrintsJsonHasOne) {
    const JsonSchema schema = output_schema();
    std::set<std::string> described, real;
    for (const auto& one : schema.document().at("verbs").items()) described.insert(one.key());
    for (const Verb& verb : verbs()) {
        if (!kWithoutJson.contains(std::string(verb.name))) real.insert(std::string(verb.name));
    }
    EXPECT_EQ(described, real);
}

TEST(ExchangeSchema, AVerbPrintsItsOwn) {
    SteadyCli cli;
    const CliResult track = cli.run({"schema", "track"});
    ASSERT_EQ(track.code, 0) << track.err;
    EXPECT_EQ(track.json().at("$id"), "steady-output.v1/track");
    EXPECT_TRUE(track.json().at("definitions").contains("change")) << track.out;
    EXPECT_FALSE(track.json().at("definitions").contains("experiment")) << "not referred to";
    EXPECT_TRUE(cli.run({"schema"}).json().at("verbs").contains("show"));
    const CliResult odd = cli.run({"schema", "odd"});
    EXPECT_EQ(odd.code, 2);
    EXPECT_THAT(odd.err, HasSubstr("allowed: a verb that prints JSON: aa, ab"));
}

class ExchangeSchemaOutputs : public ::testing::Test {
protected:
    SteadyCli cli;
    JsonSchema schema = output_schema();
    std::set<std::string> seen;

    nlohmann::json fits(std::vector<std::string> words, std::vector<std::string> rest = {}) {
        const nlohmann::json& known = schema.document().at("verbs");
        std::string verb = words[0] + (words.size() > 1 ? " " + words[1] : "");
        if (!known.contains(verb)) verb = words[0];
        words.push_back("--json");
        if (!rest.empty()) words.push_back("--");
        words.insert(words.end(), rest.begin(), rest.end());
        const CliResult done = cli.run(words);
        const nlohmann::json json = done.json();
        EXPECT_FALSE(json.is_discarded()) << verb << ": " << done.out << done.err;
        for (const std::string& error : schema.errors(json, known.at(verb))) {
            ADD_FAILURE() << verb << error;
        }
        seen.insert(verb);
        return json;
    }
};

TEST_F(ExchangeSchemaOutputs, OfRecords) {
    const std::string records = kSource + "/experiments/records/";
    fits({"import", records + "quickstart-16106d8c.steady.json", "--no-journal"});
    for (const char* more : {"sort-in-locale-c-e2ff5ae3", "ab-zstd-8ca2e6d4-435b860e"}) {
        fits({"import", records + more + ".steady.json", "--no-journal"});
    }
    fits({"import", "--adapter", "bencher", kSource + "/tests/data/history/bencher/perf.json"});
    for (const char* id : {"quickstart", "sort-in-locale-c"}) {
        fits({"show", id});
        fits({"show", id, "--pairs"});
        fits({"decide", id});
        fits({"report", id});
        fits({"journal", id});
        fits({"audit-log", id});
    }
    fits({"report", "quickstart", "sort-in-locale-c"});
    fits({"compare", "quickstart", "quickstart"});
    fits({"export", "quickstart", "--out", (cli.state() / "a.steady.json").string()});
    fits({"export", "quickstart", "--format", "csv", "--out", (cli.state() / "a.csv").string()});
    fits({"journal"});
    fits({"tried", "zstd"});
    fits({"tried", "nothinglikethis"});
    fits({"alerts", "list"});
    fits({"gc", "--older-than", "10"});
    EXPECT_GE(seen.size(), 11U);
}

TEST_F(ExchangeSchemaOutputs, OfTheQueue) {
    fits({"init", "my-idea", "--from", kSource + "/experiments/quickstart.json", "--model",
          "tiny-glm.gguf", "--claim", "A is not slower than B", "--because",
          "both arms are the same"});
    fits({"validate", "my-idea"});
    fits({"validate", kSource + "/tests/data/specs/bad/alpha-too-large.json"});
    fits({"plan", "my-idea"});
    fits({"submit", "my-idea"});
    fits({"submit", "my-idea"});
    fits({"queue"});
    fits({"priority", "my-idea", "5"});
    fits({"cancel", "my-idea"});
    fits({"requeue", "my-idea"});
    fits({"unpin", "my-idea"});
    fits({"show", "my-idea"});
    fits({"audit-log"});
    fits({"token", "create", "ci", "--scopes", "read"});
    fits({"token", "list"});
    fits({"token", "revoke", "ci"});
    fits({"db", "migrate"});
    fits({"db", "status"});
    fits({"db", "url"});
    fits({"config", "show"});
    fits({"program", "list"});
    fits({"version"});
    fits({"stats", "simulate", "--experiments", "10"});
    fits({"stats", "check", kSource + "/tests/data/stat-vectors.json"});
    EXPECT_GE(seen.size(), 20U);
}

TEST_F(ExchangeSchemaOutputs, OfMeasurements) {
    cli.set("STEADY_HOST_LOCK", (cli.state() / "host.lock").string());
    fits({"ab", "true", "sh -c :", "--pairs", "10", "--any-output"});
    GitFixture repository;
    fs::create_directories(cli.state() / "sources");
    fs::create_directory_symlink(repository.path(), cli.state() / "sources/counter");
    for (int i = 0; i < 4; ++i) {
        repository.write("bench", "echo '{\"metric\": \"work_items\", \"value\": " +
                                      std::to_string(i < 2 ? 1000 : 1100) +
                                      ", \"direction\": \"lower\"}'");
        repository.write("n", std::to_string(i));
        repository.commit("Change " + std::to_string(i));
    }
    const auto track = fits({"track", "--repo", "counter", "--backfill", "4", "--adapter", "lines",
                             "--metric", "work_items", "--direction", "lower", "--pairs", "10"},
                            {"sh", "bench"});
    EXPECT_EQ(track.at("series").at(0).at("changes").size(), 1U) << track.dump(1);
    const auto alerts = fits({"alerts", "list"});
    ASSERT_FALSE(alerts.at("alerts").empty());
    fits({"alerts", "set", alerts.at("alerts").at(0).at("id").dump(), "fixed"});
    fits({"rerun", "last"});
}

}  // namespace
}  // namespace steady
