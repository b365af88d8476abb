// From a file to a verdict, through the real programs on a real model and a real database: what the
// README promises, case by case.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

class EndToEnd : public ::testing::Test {
protected:
    SteadyCli cli;

    nlohmann::json run(const std::string& file, int expected_code,
                       const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"run", file, "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const CliResult result = cli.run(arguments);
        EXPECT_EQ(result.code, expected_code) << result.out << result.err;
        return result.json();
    }
};

TEST_F(EndToEnd, AFasterVariantIsAcceptedAndTheEntryWritten) {
    const nlohmann::json shown = run(cli.experiment("faster", small_experiment()), 0);
    EXPECT_EQ(shown.at("verdict"), "accept");
    EXPECT_GT(shown.at("effect").get<double>(), 0.01);
    EXPECT_GE(shown.at("pairs").get<int>(), 9);
    EXPECT_LT(shown.at("interval").at(0).get<double>(), shown.at("effect").get<double>());
    EXPECT_TRUE(std::filesystem::exists(cli.root() / shown.at("journal").get<std::string>()));

    const CliResult again = cli.run({"decide", "last", "--json"});
    EXPECT_EQ(again.code, 0) << again.err;
    const CliResult checked = cli.run({"journal", "--check"});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    std::ofstream(cli.root() / shown.at("journal").get<std::string>(), std::ios::app) << "x";
    std::string entry = (cli.root() / shown.at("journal").get<std::string>()).string();
    // Text after "Notes" is people's; a change above it is not.
    std::fstream file(entry, std::ios::in | std::ios::out);
    file.seekp(40);
    file << "tampered";
    file.close();
    EXPECT_EQ(cli.run({"journal", "--check"}).code, 1);
}

TEST_F(EndToEnd, SwappedArmsAreARegression) {
    nlohmann::json spec = small_experiment();
    std::swap(spec["arms"]["A"], spec["arms"]["B"]);
    const nlohmann::json shown = run(cli.experiment("swapped", spec), 10);
    EXPECT_EQ(shown.at("verdict"), "reject");
    EXPECT_EQ(shown.at("reason"), "regression");
    EXPECT_LT(shown.at("effect").get<double>(), 0);
}

TEST_F(EndToEnd, AWrongVariantIsRejectedBeforeAnyTiming) {
    nlohmann::json spec = small_experiment();
    spec["arms"] = {{"A", {{"kernels", {{"q4_0_matvec", "reference"}}}}},
                    {"B", {{"kernels", {{"q4_0_matvec", "broken_lost_row"}}}}}};
    spec["expect_diff"] = {"kernels.q4_0_matvec"};
    const nlohmann::json shown = run(cli.experiment("wrong", spec), 10,
                                     {"--engine", STEADY_BIN_DIR "/steady-engine-broken"});
    EXPECT_EQ(shown.at("reason"), "wrong_output");
    EXPECT_EQ(shown.at("pairs"), 0);
}

TEST_F(EndToEnd, WinningAloneAndLosingInTheModelIsRejectedAndSaidSo) {
    nlohmann::json spec = small_experiment();
    spec["arms"] = {{"A", {{"kernels", {{"q4_0_matvec", "reference"}}}}},
                    {"B", {{"kernels", {{"q4_0_matvec", "specialised_last_shape"}}}}}};
    // Only speed is the question here: an 8-bit kernel against plain loops.
    spec["gates"][0]["need"] = {{"top1_agree", ">=0.3"}};
    spec["expect_diff"] = {"kernels.q4_0_matvec"};
    const nlohmann::json alone = {{"id", "alone"},
                                  {"level", "micro"},
                                  {"role", "advice"},
                                  {"metric", "op_ns"},
                                  {"op", "q4_0_matvec"}};
    spec["gates"].insert(spec["gates"].begin() + 1, alone);
    const nlohmann::json shown = run(cli.experiment("alone", spec), 10,
                                     {"--engine", STEADY_BIN_DIR "/steady-engine-broken"});
    EXPECT_EQ(shown.at("reason"), "regression");
    EXPECT_GT(shown.at("gates").at(1).at("effect").get<double>(), 0.01);
    EXPECT_NE(shown.dump().find("micro +"), std::string::npos) << shown.at("sentence");
}

TEST_F(EndToEnd, ASweepConfirmsItsBestOnNewPairs) {
    nlohmann::json spec = small_experiment();
    spec["sweep"] = {{"axes", {{"kernels.q4_0_experts", {"portable_dequantised", "avx2"}}}},
                     {"screen_pairs", 3}};
    const std::string file = cli.experiment("choose", spec);
    EXPECT_EQ(cli.run({"run", file}).code, 2);
    const CliResult result = cli.run({"sweep", file, "--json"});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    const nlohmann::json out = result.json();
    EXPECT_EQ(out.at("screened").size(), 2U);
    EXPECT_EQ(out.at("chosen").at("kernels.q4_0_experts"), "avx2");
    EXPECT_EQ(out.at("confirmation").at("verdict"), "accept");
    EXPECT_GE(out.at("confirmation").at("pairs").get<int>(), 9);
    for (const nlohmann::json& one : out.at("screened")) {
        EXPECT_NE(one.at("verdict"), "accept");
        EXPECT_LE(one.at("pairs").get<int>(), 3);
    }
}

TEST_F(EndToEnd, ABlindAuditPublishesItsBound) {
    std::filesystem::create_directories(cli.root() / "experiments" / "selftest");
    nlohmann::json spec = quick_experiment();
    spec["arms"]["B"] = spec["arms"]["A"];
    spec["expect_diff"] = nlohmann::json::array();
    spec["id"] = "a-against-a";
    std::ofstream(cli.root() / "experiments" / "selftest" / "a-against-a.json") << spec;
    const CliResult result = cli.run({"aa", "--audit", "--runs", "2", "--seed", "5", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const nlohmann::json out = result.json();
    EXPECT_EQ(out.at("experiments"), 2);
    EXPECT_EQ(out.at("invalid"), 0);  // the tag is applied evidence enough
    EXPECT_EQ(out.at("all_audits").at("experiments"), 2);
    EXPECT_GT(out.at("all_audits").at("false_accept_upper_95").get<double>(), 0.5);
    EXPECT_EQ(cli.run({"decide", "--all"}).code, 0);
}

TEST_F(EndToEnd, AFlagWithoutEffectIsInvalid) {
    nlohmann::json spec = small_experiment();
    // The tiny model has no Q8_0 matrix, so this variant is never called.
    spec["arms"] = {{"A", nlohmann::json::object()},
                    {"B", {{"kernels", {{"q8_0_matvec", "reference"}}}}}};
    spec["expect_diff"] = {"kernels.q8_0_matvec"};
    const nlohmann::json shown = run(cli.experiment("no-effect", spec), 12);
    EXPECT_EQ(shown.at("verdict"), "invalid");
    EXPECT_EQ(shown.at("reason"), "applied_evidence_missing");
}

TEST_F(EndToEnd, ARunnerKilledInTheMiddleLosesNothing) {
    nlohmann::json spec = quick_experiment();
    spec["arms"] = {{"A", nlohmann::json::object()}, {"B", nlohmann::json::object()}};
    spec["expect_diff"] = nlohmann::json::array();
    spec["schedule"]["tokens"] = 256;
    spec["schedule"]["pairs"]["max"] = 30;
    const std::string file = cli.experiment("killed", spec);
    cli.run({"db", "start"});
    const pid_t runner = cli.start({"run", file});
    nlohmann::json shown = nlohmann::json::object();
    for (int i = 0; i < 600 && shown.value("pairs_stored", 0) < 3; ++i) {
        ::usleep(50'000);
        const CliResult result = cli.run({"show", "last", "--json"});
        if (result.code == 0 && result.json().is_object()) shown = result.json();
    }
    ASSERT_GE(shown.value("pairs_stored", 0), 3) << shown.dump();
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
    const nlohmann::json after = cli.run({"show", "last", "--json"}).json();
    EXPECT_GE(after.at("pairs_stored").get<int>(), shown.at("pairs_stored").get<int>());
    EXPECT_TRUE(after.at("verdict").is_null());
    // The same command goes on where it stopped.
    const CliResult resumed = cli.run({"run", file, "--json"});
    EXPECT_TRUE(resumed.code == 10 || resumed.code == 11) << resumed.out << resumed.err;
    EXPECT_EQ(resumed.json().at("id"), after.at("id"));
}

TEST_F(EndToEnd, BadInputIsExitTwoWithPointerAndLine) {
    nlohmann::json spec = small_experiment();
    spec["gates"][1]["role"] = "decide";
    const CliResult result = cli.run({"run", cli.experiment("bad", spec)});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("/gates/1/role"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("decides"), std::string::npos) << result.err;

    spec = small_experiment();
    spec["subject"]["model"] = "nowhere.gguf";
    EXPECT_EQ(cli.run({"run", cli.experiment("nowhere", spec)}).code, 2);
    spec = small_experiment();
    spec["arms"]["B"]["kernels"]["q4_0_experts"] = "avx9";
    const CliResult unknown = cli.run({"run", cli.experiment("unknown-variant", spec)});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_NE(unknown.err.find("avx2"), std::string::npos) << "choices are listed: " << unknown.err;
}

}  // namespace
}  // namespace steady
