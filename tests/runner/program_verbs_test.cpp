// `steady program`: from a registration to a first confined run, with a real repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/verbs.h"
#include "runner/programs/confine/confine.h"
#include "tests/support/git_fixture.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ProgramVerbs : public ::testing::Test {
protected:
    void SetUp() override {
        ::setenv("STEADY_STATE_DIR", place_.beside("state").c_str(), 1);
        ::setenv("STEADY_HOST_LOCK", place_.beside("host.lock").c_str(), 1);
        place_.write("bench.sh", "#!/bin/sh\ncat \"$1\" || exit 3\n");
        place_.write("good", R"({"metric": "work", "value": 5, "unit": "ns"})"
                             "\n");
        // Prints nothing: its results go where Google Benchmark's option says.
        place_.write("google.sh",
                     "#!/bin/sh\nfor word; do case $word in --benchmark_out=*) "
                     "cp google.json \"${word#*=}\";; esac; done\n");
        place_.write("google.json", R"({"benchmarks":[{"name":"BM_a","run_name":"BM_a",)"
                                    R"("run_type":"iteration","real_time":5.0,)"
                                    R"("cpu_time":4.0,"time_unit":"ns"}]})");
        place_.commit("first");
        place_.git({"checkout", "--quiet", "-b", "wip"});
        place_.write("good", "nothing that an adapter reads");
        place_.commit("second");
    }
    void TearDown() override {
        ::unsetenv("STEADY_STATE_DIR");
        ::unsetenv("STEADY_HOST_LOCK");
    }
    Json registration() const {
        return {{"name", "bench"},
                {"repository", place_.path()},
                {"refs", {"main"}},
                {"build", Json::array({Json::array({"chmod", "+x", "bench.sh", "google.sh"})})},
                {"run", Json::array({Json::array({"./bench.sh", "{file}"})})},
                {"arguments", {{"file", {{"pattern", "[a-z]+"}, {"example", "good"}}}}},
                {"adapters", {"lines"}}};
    }
    void add(const Json& file) const {
        std::ofstream(place_.beside("new.json")) << file.dump();
        Arguments arguments;
        arguments.words = {place_.beside("new.json")};
        arguments.options["force"] = "1";
        shown(verb_program_add, arguments);
    }
    // What the verb printed with --json, and its exit code.
    static std::pair<int, Json> shown(int (*verb)(const Arguments&), Arguments arguments) {
        arguments.options["json"] = "1";
        arguments.options["quiet"] = "1";
        ::testing::internal::CaptureStdout();
        int code = 0;
        try {
            code = verb(arguments);
        } catch (const std::exception&) {
            ::testing::internal::GetCapturedStdout();
            throw;
        }
        return {code, Json::parse(::testing::internal::GetCapturedStdout())};
    }
    static std::pair<int, Json> check(const std::string& revision = {}) {
        Arguments arguments;
        arguments.words = {"bench"};
        if (!revision.empty()) arguments.options["rev"] = revision;
        return shown(verb_program_check, arguments);
    }

    static double value_of(const Json& report, const std::string& metric) {
        for (const Json& row : report["commands"][0]["rows"]) {
            if (row["metric"] == metric) return row["value"].get<double>();
        }
        ADD_FAILURE() << "no " << metric << " in " << report.dump(1);
        return 0;
    }

    GitFixture place_;
};

TEST_F(ProgramVerbs, CheckBuildsAndRunsConfined) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    add(registration());
    EXPECT_EQ(shown(verb_program_list, {}).second["programs"][0]["tag"], "program:bench");
    const auto [code, report] = check();
    EXPECT_EQ(code, 0);
    ASSERT_TRUE(report["works"]) << report.dump(1);
    EXPECT_EQ(value_of(report, "work"), 5.0);
    EXPECT_GT(value_of(report, "wall_seconds"), 0.0);
    EXPECT_EQ(report["limits"], describe(tree_means()));
}

// The adapter adds an option, and reads what the confined program wrote into the folder it got.
TEST_F(ProgramVerbs, ConfinedProgramsHaveAFolderForTheirResults) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    Json file = registration();
    file["run"] = Json::array({Json::array({"./google.sh"})});
    file.erase("arguments");
    file["adapters"] = {"google-benchmark"};
    add(file);
    const auto [code, report] = check();
    EXPECT_EQ(code, 0) << report.dump(1);
    EXPECT_EQ(value_of(report, "real_time_ns"), 5.0);
}

// A link to a file of ours must not be read as a result.
TEST_F(ProgramVerbs, ResultsThatAreLinksAreNotRead) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    const std::string secret = place_.beside("secret.json");
    std::filesystem::copy_file(place_.path() + "/google.json", secret);
    place_.git({"checkout", "--quiet", "main"});
    place_.write("google.sh", "#!/bin/sh\nfor word; do case $word in --benchmark_out=*) ln -s " +
                                  secret + " \"${word#*=}\";; esac; done\n");
    place_.commit("link");
    Json file = registration();
    file["run"] = Json::array({Json::array({"./google.sh"})});
    file.erase("arguments");
    file["adapters"] = {"google-benchmark"};
    add(file);
    const auto [code, report] = check();
    EXPECT_EQ(code, 1);
    EXPECT_THAT(report["commands"][0]["trouble"].get<std::string>(), HasSubstr("no result"));
}

TEST_F(ProgramVerbs, CheckSaysWhatIsWrong) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    Json file = registration();
    file["arguments"]["file"]["example"] = "missing";
    add(file);
    const auto [code, report] = check();
    EXPECT_EQ(code, 1);
    EXPECT_THAT(report["commands"][0]["trouble"].get<std::string>(), HasSubstr("exit code 3"));
    file = registration();
    file["refs"] = {"wip"};
    add(file);
    EXPECT_THAT(check().second["commands"][0]["trouble"].get<std::string>(),
                HasSubstr("nothing that an adapter reads"));
}

TEST_F(ProgramVerbs, CheckKeepsToTheAllowedRevisions) {
    if (const auto trouble = confinement_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
    add(registration());
    EXPECT_EQ(check("main").first, 0);
    try {
        check("wip");
        FAIL() << "wip is not allowed";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("in no allowed branch or tag"));
    }
}

}  // namespace
}  // namespace steady
