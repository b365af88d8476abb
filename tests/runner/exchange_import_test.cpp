// Histories of other programs as a user imports them: points of series, never verdicts or alerts;
// the same import twice changes nothing; what cannot be placed is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/git_fixture.h"
#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kHistories = std::string(STEADY_SOURCE_DIR) + "/tests/data/history/";

class ExchangeImport : public ::testing::Test {
protected:
    SteadyCli cli;

    CliResult import(std::vector<std::string> more) {
        std::vector<std::string> words = {"import", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return cli.run(words);
    }

    void refused(const std::vector<std::string>& words, const std::string& text) {
        std::vector<std::string> all = {"import"};
        all.insert(all.end(), words.begin(), words.end());
        const CliResult done = cli.run(all);
        EXPECT_EQ(done.code, 2) << done.out << done.err;
        EXPECT_THAT(done.err, HasSubstr(text));
    }

    std::string write(const std::string& name, const std::string& text) {
        const fs::path path = cli.state() / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path.string();
    }
};

TEST_F(ExchangeImport, BencherBecomesSeriesAndTheSecondTimeNothing) {
    const CliResult first = import({"--adapter", "bencher", kHistories + "bencher/perf.json"});
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_GT(first.json().at("added").get<int>(), 0);
    const auto series = first.json().at("series");
    ASSERT_FALSE(series.empty());
    const CliResult again = import({"--adapter", "bencher", kHistories + "bencher/perf.json"});
    EXPECT_EQ(again.json().at("added"), 0) << again.out;
    EXPECT_EQ(again.json().at("known"), first.json().at("added"));
    EXPECT_EQ(again.json().at("series")[0].at("points"), series[0].at("points"));
    EXPECT_TRUE(cli.run({"alerts", "list", "--json"}).json().at("alerts").empty());
    const CliResult table = cli.run({"export", series[0].at("series").get<std::string>(),
                                     "--format", "csv", "--table", "series"});
    ASSERT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("series,repository,branch,metric"));
}

// The change lies in the numbers; nobody knows whether the commit made it.
TEST_F(ExchangeImport, RunsOfARepositoryGetItsOrderAndNoAlert) {
    GitFixture repository;
    fs::create_directories(cli.state() / "sources");
    fs::create_directory_symlink(repository.path(), cli.state() / "sources/parser");
    for (int i = 0; i < 24; ++i) {
        repository.write("n", std::to_string(i));
        const std::string sha = repository.commit("Change " + std::to_string(i));
        const double time = (i < 12 ? 100 : 120) + i % 3;
        const nlohmann::json one = {
            {"results", {{{"command", "parse big.txt"}, {"times", {time, time + 1, time - 1}}}}}};
        write("runs/" + sha + ".json", one.dump());
    }
    const std::string folder = (cli.state() / "runs").string();
    const CliResult done =
        import({"--adapter", "hyperfine", "--repo", "parser", "--host", "bench-1", folder});
    ASSERT_EQ(done.code, 0) << done.err;
    const auto series = done.json().at("series");
    ASSERT_EQ(series.size(), 1U) << done.out;
    EXPECT_EQ(series[0].at("points"), 24);
    EXPECT_EQ(series[0].at("metric"), "wall_seconds");
    EXPECT_EQ(series[0].at("host"), "bench-1");
    EXPECT_EQ(series[0].at("changes"), 1);
    EXPECT_TRUE(cli.run({"alerts", "list", "--json"}).json().at("alerts").empty());
    const CliResult csv = cli.run({"export", series[0].at("series").get<std::string>(), "--format",
                                   "csv", "--table", "series"});
    EXPECT_LT(csv.out.find("0.83"), csv.out.rfind("0.8")) << "slower is below 1\n" << csv.out;
}

TEST_F(ExchangeImport, BadInputIsSaid) {
    const std::string run =
        write("bench.json", R"({"results": [{"command": "true", "times": [1.5]}]})");
    refused({"--adapter", "nosuch", run}, "allowed asv, bencher");
    refused({"--adapter", "hyperfine"}, "needs a FILE or a folder");
    refused({"--adapter", "hyperfine", run}, "allowed 40 hex digits");
    refused({"--adapter", "hyperfine", "--commit", std::string(40, 'a'), run}, "no date");
    refused({"--adapter", "hyperfine", "--commit", std::string(40, 'a'), "--date", "today", run},
            "allowed a time as 2026-11-24T03:00:00Z");
    refused({"--adapter", "hyperfine", "--metric", "nosuch", run}, "no metric \"nosuch\"");
    refused({"--adapter", "bencher", run}, "project");
    refused({"--adapter", "asv", run}, "benchmarks.json");
    refused({"--host", "a", run}, "--host belongs to --adapter NAME");
    refused({"--adapter", "hyperfine", write("broken.json", "{"), "--commit", "x"}, "hyperfine");
    const CliResult good = import({"--adapter", "hyperfine", "--commit", std::string(40, 'a'),
                                   "--date", "2026-11-24T03:00:00+01:00", run});
    EXPECT_EQ(good.code, 0) << good.err;
    EXPECT_EQ(good.json().at("added"), 1);
}

TEST_F(ExchangeImport, TablesHaveThreeForms) {
    const CliResult first = import({"--adapter", "bencher", kHistories + "bencher/perf.json"});
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string name = first.json().at("series")[0].at("series");
    const auto exported = [&](const std::string& format) {
        return cli.run({"export", name, "--table", "series", "--format", format}).out;
    };
    const std::string arrow = exported("arrow"), parquet = exported("parquet");
    EXPECT_TRUE(arrow.starts_with("ARROW1") && arrow.ends_with("ARROW1"));
    EXPECT_TRUE(parquet.starts_with("PAR1") && parquet.ends_with("PAR1"));
    const CliResult odd = cli.run({"export", name, "--format", "odd"});
    EXPECT_EQ(odd.code, 2);
    EXPECT_THAT(odd.err, HasSubstr("allowed archive, csv, arrow, parquet"));
}

}  // namespace
}  // namespace steady
