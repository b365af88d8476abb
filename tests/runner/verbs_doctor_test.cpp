// `steady doctor`, through the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

std::string all_findings(const nlohmann::json& told) {
    std::string all;
    for (const auto& row : told.at("findings")) all += row.at("finding").get<std::string>() + "\n";
    return all;
}

TEST(DoctorVerb, LooksAtMachineLoadDiskAndDatabase) {
    const SteadyCli cli(Fsync::on);
    const nlohmann::json before = cli.run({"doctor", "--json"}).json();
    EXPECT_THAT(all_findings(before), HasSubstr("private PostgreSQL: not running"))
        << "it starts none";
    for (const char* word : {"steal", "share a core", "turbo", "governor", "huge pages",
                             "memory node", "clock source", "counters", "GB free"}) {
        EXPECT_THAT(all_findings(before), HasSubstr(word));
    }

    ASSERT_EQ(cli.run({"db", "start"}).code, 0);
    cli.run({"queue"});  // makes the schema
    const nlohmann::json after = cli.run({"doctor", "--json"}).json();
    EXPECT_THAT(all_findings(after), HasSubstr("PostgreSQL fsync on"));
    for (const auto& row : after.at("findings")) {
        EXPECT_EQ(row.at("bad").get<bool>(), !row.at("fix").get<std::string>().empty()) << row;
    }
}

TEST(DoctorVerb, ADatabaseThatDoesNotAnswerIsAFinding) {
    const SteadyCli cli;
    const CliResult told =
        cli.run({"doctor", "--json", "--db", "postgresql://127.0.0.1:1/nothing"});
    EXPECT_EQ(told.code, 12) << told.err;
    EXPECT_THAT(all_findings(told.json()), HasSubstr("the database does not answer"));
}

}  // namespace
}  // namespace steady
