// `steady track` on a repository of its own: each commit is checked out, built and measured by the
// real programs. Its build copies the engine of this build, so that a commit takes seconds; one
// commit does not build.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

class Track : public ::testing::Test {
protected:
    SteadyCli cli;

    void write(const fs::path& file, const std::string& text) {
        fs::create_directories((cli.root() / file).parent_path());
        std::ofstream(cli.root() / file) << text;
    }

    void git(std::vector<std::string> words) {
        words.insert(words.begin(), {"git", "-C", cli.root().string(), "-c", "user.name=t", "-c",
                                     "user.email=t@example.org", "-c", "init.defaultBranch=main"});
        const pid_t pid = ::fork();
        if (pid == 0) {
            std::vector<char*> argv;
            for (std::string& word : words) argv.push_back(word.data());
            argv.push_back(nullptr);
            ::execvp("git", argv.data());
            ::_exit(127);
        }
        int status = -1;
        ::waitpid(pid, &status, 0);
        ASSERT_EQ(status, 0) << words.back();
    }

    void commit(const std::string& subject) {
        git({"add", "CMakeLists.txt", "CMakePresets.json", "text"});
        git({"commit", "-q", "-m", subject});
    }

    void SetUp() override {
        if (!fs::exists("/usr/bin/git")) GTEST_SKIP() << "no git";
        const std::string recipe =
            "cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\n"
            "add_custom_target(steady-engine COMMAND ${CMAKE_COMMAND} -E copy " STEADY_BIN_DIR
            "/steady-engine ${CMAKE_BINARY_DIR}/bin/steady-engine)\n";
        git({"init", "-q"});
        write("CMakePresets.json",
              R"({"version":6,"configurePresets":[{"name":"release","generator":"Ninja",
                 "binaryDir":"${sourceDir}/build/release"}],
                 "buildPresets":[{"name":"release","configurePreset":"release"}]})");
        write("CMakeLists.txt", recipe);
        write("text", "1");
        commit("First");
        write("text", "2");
        write("CMakeLists.txt", "message(FATAL_ERROR \"this commit is broken\")\n");
        commit("Broken <b>");
        write("CMakeLists.txt", recipe);
        write("text", "3");
        commit("Third");
        git({"remote", "add", "origin", "https://kim:secret@forge.example/team/p.git"});
        nlohmann::json spec = small_experiment();
        spec["arms"] = {{"A", {{"kernels", {{"*", "reference"}}}}},
                        {"B", nlohmann::json::object()}};
        spec["expect_diff"] = {"kernels.*"};
        spec["hypothesis"]["predict"]["change"] = {"+5%", "+1000%"};
        spec["schedule"]["pairs"]["max"] = 10;
        spec["schedule"]["tokens"] = 16;
        // Where 8-bit activations are the default, random weights magnify their rounding.
        for (auto& gate : spec["gates"]) {
            if (gate["level"] == "correctness")
                gate["need"] = {{"top1_agree", ">=0.5"}, {"kl", "<=0.2"}};
        }
        fs::create_directories(cli.root() / "experiments/watch");
        cli.experiment("watch/watch-small", spec);
        fix_id();
    }

    // The helper names the file's id after its path; a suite's id is the stem.
    void fix_id() {
        const fs::path file = cli.root() / "experiments/watch/watch-small.json";
        std::ifstream in(file);
        nlohmann::json spec = nlohmann::json::parse(in);
        spec["id"] = "watch-small";
        std::ofstream(file) << spec.dump();
    }
};

TEST_F(Track, BackfillBuildsMeasuresAndStoresEachCommit) {
    const CliResult done = cli.run({"track", "--backfill", "3", "--json"});
    if (done.err.find("machine_too_noisy") != std::string::npos) {
        GTEST_SKIP() << "other programs keep this machine busy: no pair counts";
    }
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(done.json().at("measured"), 2) << done.out << done.err;
    EXPECT_EQ(done.json().at("failed"), 1);
    const nlohmann::json series = done.json().at("series").at(0);
    EXPECT_EQ(series.at("points"), 2);
    EXPECT_GT(series.at("ratio").get<double>(), 1.05) << "champions beat the plain loops";
    EXPECT_NE(done.err.find("this commit is broken"), std::string::npos) << done.err;
    EXPECT_FALSE(fs::exists(cli.root() / ".git/worktrees")) << "worktrees are removed";

    const CliResult again = cli.run({"track", "--backfill", "3", "--json"});
    EXPECT_EQ(again.json().at("measured"), 0);
    EXPECT_EQ(again.json().at("known"), 2);

    const CliResult words = cli.run({"track", "--list", "--markdown"});
    EXPECT_EQ(words.code, 0) << words.err;
    EXPECT_NE(words.out.find("| small-on-"), std::string::npos) << words.out;
    EXPECT_EQ(words.out.find("secret"), std::string::npos);
}

TEST_F(Track, BadInputIsSaid) {
    EXPECT_EQ(cli.run({"track", "--commit", "nosuch"}).code, 2);
    EXPECT_EQ(cli.run({"track", "--commit", "--output=x"}).code, 2);
    EXPECT_EQ(cli.run({"track", "--webhook", "ftp://x"}).code, 2);
    EXPECT_EQ(cli.run({"track", "--suite", "nosuch"}).code, 2);
}

}  // namespace
}  // namespace steady
