// Workload files: what they may say, and what somebody reads who wrote them wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"
#include "runner/cli/workspace.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WorkspaceWorkload : public ::testing::Test {
protected:
    WorkspaceWorkload() {
        root_ = fs::path(::testing::TempDir()) / folder_name();
        fs::create_directories(root_ / "experiments/workloads");
        ::setenv("STEADY_ROOT", root_.c_str(), 1);
    }
    ~WorkspaceWorkload() override {
        ::unsetenv("STEADY_ROOT");
        fs::remove_all(root_);
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(root_ / "experiments/workloads" / name) << text;
    }

    static std::string refusal(const std::string& name) {
        try {
            load_workload(name);
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code, kExitUsage);
            return error.what();
        }
        return "(none)";
    }

private:
    static std::string folder_name() { return "steady-workload-" + std::to_string(::getpid()); }
    fs::path root_;
};

TEST_F(WorkspaceWorkload, SaysTextPromptAndDepth) {
    write("deep.json", R"({"text": "so it goes", "prompt_tokens": 8, "depth": 2040} // far in)");
    const Workload deep = load_workload("deep");
    EXPECT_EQ(deep.text, "so it goes");
    EXPECT_EQ(deep.prompt_tokens, 8);
    EXPECT_EQ(deep.depth, 2040);
    write("plain.txt", "only a text");
    EXPECT_EQ(load_workload("plain").text, "only a text");
    EXPECT_EQ(load_workload("plain").depth, 0);
    write("prose.json", R"({"text": "what is taken when none is named"})");
    EXPECT_EQ(load_workload("").text, "what is taken when none is named");
}

TEST_F(WorkspaceWorkload, AWrongFileIsNamedWithWhatWasFound) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"({"text": "a", "dept": 10})", R"(found "dept": 10)"},
        {R"({"text": "a", "depth": -1})", R"(found "depth": -1)"},
        {R"({"text": "a", "depth": 1.5})", R"(found "depth": 1.5)"},
        {R"({"text": "a", "depth": 9999999})", R"(found "depth": 9999999)"},
        {R"({"text": "a", "prompt_tokens": 0})", R"(found "prompt_tokens": 0)"},
        {R"({"text": 7})", R"(found "text": 7)"},
        {R"({"depth": 1})", R"(found no "text")"},
        {R"([])", "found no JSON object"},
        {R"({"text": )", "found no JSON object"},
    };
    for (const auto& [text, found] : wrong) {
        write("wrong.json", text);
        EXPECT_THAT(refusal("wrong"), HasSubstr(found)) << text;
        EXPECT_THAT(refusal("wrong"), HasSubstr("workloads/wrong.json"));
    }
}

TEST_F(WorkspaceWorkload, AnUnknownNameIsAnsweredWithThoseThatExist) {
    write("deep.json", "{}");
    write("prose.txt", "");
    EXPECT_THAT(refusal("shallow"), HasSubstr("there are deep, prose"));
    EXPECT_THAT(refusal("../secret"), HasSubstr("must be a plain file name"));
}

}  // namespace
}  // namespace steady
