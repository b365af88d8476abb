// `steady tune-defaults` through the real programs: what is screened, what is written, and that
// steady-engine takes it. Which variant wins is this machine's business, so no test asks for one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

class TuneDefaults : public ::testing::Test {
protected:
    SteadyCli cli;
    const std::string model = "tiny-glm.gguf";
};

TEST_F(TuneDefaults, ScreeningNamesEachVariantAloneAndWritesNothing) {
    cli.set("XDG_CONFIG_HOME", (cli.root() / "config").string());
    const CliResult result = cli.run({"tune-defaults", "--model", model, "--ops", "add",
                                      "--threads", "1", "--screen", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json shown = result.json();
    EXPECT_TRUE(shown.at("file").is_null());
    EXPECT_FALSE(std::filesystem::exists(cli.root() / "config"));
    ASSERT_EQ(shown.at("asked").size(), 1U);
    for (const auto& asked : shown.at("asked")) {
        EXPECT_TRUE(asked.at("experiments").empty());
        bool has_default = false;
        double last = 1e300;
        for (const auto& one : asked.at("alone")) {
            EXPECT_LE(one.at("gb_per_s").get<double>(), last) << asked;  // fastest first
            last = one.at("gb_per_s");
            has_default = has_default || one.at("variant") == asked.at("default");
        }
        EXPECT_TRUE(has_default) << asked;
    }
}

TEST_F(TuneDefaults, AnOpThatTheModelDoesNotCallIsRefused) {
    const CliResult result =
        cli.run({"tune-defaults", "--model", model, "--ops", "q4_0_matvce", "--screen"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("\"q4_0_matvce\""), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("q4_0_matvec"), std::string::npos) << result.err;
    EXPECT_EQ(cli.run({"tune-defaults", "--model", "no-such-model.gguf"}).code, 2);
}

TEST_F(TuneDefaults, TheFileNamesTheClassAndEveryQuestion) {
    const std::string file = (cli.root() / "own" / "defaults.json").string();
    const CliResult result =
        cli.run({"tune-defaults", "--model", model, "--ops", "swiglu", "--threads", "1", "--pairs",
                 "10", "--candidates", "1", "--out", file, "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto written = nlohmann::json::parse(std::ifstream(file));
    EXPECT_EQ(written.at("version"), 1);
    EXPECT_EQ(written.at("cpu_class"), result.json().at("cpu_class"));
    EXPECT_EQ(written.at("asked").size(), 1U);
    EXPECT_EQ(written.at("choices"), result.json().at("choices"));
    for (const auto& experiment : written.at("asked").at(0).at("experiments")) {
        EXPECT_EQ(cli.run({"show", experiment.at("record"), "--json"}).code, 0) << experiment;
    }
}

}  // namespace
}  // namespace steady
