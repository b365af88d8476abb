// Registrations: what is wrong in a file is said with its place, and what an experiment may not run
// is said in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/programs/registry/command_template.h"
#include "runner/programs/registry/registry.h"
#include "tests/support/git_fixture.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

Json registration() {
    return {
        {"name", "parser"},
        {"repository", "/srv/parser"},
        {"refs", {"main", "release/*"}},
        {"build", Json::array({Json::array({"make", "bench"})})},
        {"run", {{"./bench", "--filter={filter}", "--json"}, {"./sort", "{rounds}", "{files...}"}}},
        {"arguments",
         {{"filter", {{"pattern", "BM_[a-z/0-9]+"}, {"example", "BM_parse/16"}}},
          {"rounds", {{"pattern", "[0-9]{1,3}"}, {"example", "5"}}},
          {"files", {{"pattern", "data/[a-z]+"}, {"example", "data/small"}}}}},
        {"adapters", {"google-benchmark"}},
        {"env_allowed", {{"THREADS", "[1-8]"}}}};
}

RegisteredProgram parser() {
    const ProgramResult result = parse_program(registration().dump(), "parser");
    EXPECT_THAT(result.errors, IsEmpty());
    return result.program.value();
}

AskedProgram allowed() {
    AskedProgram asked;
    asked.name = "parser";
    asked.revisions = {{"main", {"main"}}, {"release/2", {"release/2"}}};
    asked.commands = {{"./bench", "--filter=BM_parse/16", "--json"}};
    asked.adapters = {"google-benchmark"};
    return asked;
}

// The one objection there must be.
std::string objection(const AskedProgram& asked) {
    const Words all = objections(parser(), asked);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? "" : all[0];
}

TEST(RegistryObjections, WhatIsRegisteredMayRun) {
    AskedProgram asked = allowed();
    EXPECT_THAT(objections(parser(), asked), IsEmpty());
    asked.build = {{"make", "bench"}};
    asked.repository = "parser";
    asked.commands = {{"./sort", "12"}, {"./sort", "1", "data/one", "data/two"}};
    asked.env = {{"THREADS", "8"}};
    EXPECT_THAT(objections(parser(), asked), IsEmpty());
}

TEST(RegistryObjections, AnotherProgramRepositoryOrBuild) {
    AskedProgram asked = allowed();
    asked.name = "other";
    EXPECT_THAT(objection(asked), HasSubstr("registered: parser"));
    asked = allowed();
    asked.repository = "/etc";
    EXPECT_THAT(objection(asked), HasSubstr("/etc"));
    asked = allowed();
    asked.build = {{"make", "bench", "CC=/tmp/evil"}};
    EXPECT_THAT(objection(asked), HasSubstr("leave \"build\" out"));
}

TEST(RegistryObjections, RevisionsOutsideTheAllowedBranches) {
    AskedProgram asked = allowed();
    asked.revisions = {{"1234abcd", {"pull/7", "wip"}}};
    EXPECT_THAT(objection(asked), HasSubstr("in no allowed branch or tag; it is in: pull/7, wip"));
    asked.revisions = {{"1234abcd", {}}};
    EXPECT_THAT(objection(asked), HasSubstr("(none)"));
    asked.revisions = {{".", {"main"}}};
    EXPECT_THAT(objection(asked), HasSubstr("commits"));
    asked.revisions = {{"1234abcd", {"wip", "main"}}};  // it became part of main
    EXPECT_THAT(objections(parser(), asked), IsEmpty());
}

TEST(RegistryObjections, CommandsThatMatchNoTemplate) {
    const std::vector<Words> refused = {
        {"./bench", "--filter=BM_parse; rm -rf /", "--json"},
        {"./bench", "--filter=BM_parse\nBM_x", "--json"},
        {"./bench", "--filter=BM_parse", "--json", "--out=/etc/passwd"},
        {"./bench", "--filter=BM_parse"},
        {"./bench", "--filter=" + std::string(5000, 'a'), "--json"},
        {"/bin/sh", "--filter=BM_parse", "--json"},
        {"./sort", "1", "data/one", "../../etc/passwd"},
        {"./sort"},
        {},
    };
    for (const Words& command : refused) {
        AskedProgram asked = allowed();
        asked.commands = {command};
        EXPECT_THAT(objection(asked), HasSubstr("matches no registered one"));
    }
}

TEST(RegistryObjections, VariablesAndAdapters) {
    AskedProgram asked = allowed();
    asked.env = {{"LD_PRELOAD", "/tmp/evil.so"}};
    EXPECT_THAT(objection(asked), HasSubstr("may not be set; allowed: THREADS"));
    asked.env = {{"THREADS", "9"}};
    EXPECT_THAT(objection(asked), HasSubstr("[1-8]"));
    asked = allowed();
    asked.adapters = {"hyperfine"};
    EXPECT_THAT(objection(asked), HasSubstr("google-benchmark"));
}

TEST(RegistryTemplates, LiteralPartsAreNoExpressions) {
    const std::map<std::string, ArgumentRule> none;
    EXPECT_EQ(template_mismatch({"./a.b", "x+(y)"}, none, {"./a.b", "x+(y)"}), "");
    EXPECT_NE(template_mismatch({"./a.b"}, none, {"./aXb"}), "");
    const std::map<std::string, ArgumentRule> either{{"which", {"a|b", "a"}}};
    EXPECT_EQ(template_mismatch({"run", "--{which}"}, either, {"run", "--b"}), "");
    EXPECT_NE(template_mismatch({"run", "--{which}"}, either, {"run", "b"}), "");
    EXPECT_THAT(example_commands(parser()),
                ElementsAre(ElementsAre("./bench", "--filter=BM_parse/16", "--json"),
                            ElementsAre("./sort", "5", "data/small")));
}

TEST(RegistryTemplates, Globs) {
    for (const char* fits : {"release/1", "release/", "release/a/b"}) {
        EXPECT_TRUE(matches_glob("release/*", fits)) << fits;
    }
    EXPECT_TRUE(matches_glob("v*.*.0", "v1.22.0"));
    EXPECT_TRUE(matches_glob("*", ""));
    for (const char* other : {"main2", "mai", "xmain", ""}) {
        EXPECT_FALSE(matches_glob("main", other)) << other;
    }
    EXPECT_FALSE(matches_glob("v*.*.0", "v1.22.1"));
}

struct Mistake {
    const char* pointer;
    std::function<void(Json&)> make;
    const char* text;
};

TEST(RegistryFiles, MistakesAreNamedWithTheirPlace) {
    const std::vector<Mistake> mistakes = {
        {"/repositry", [](Json& j) { j["repositry"] = "/x"; }, "unknown key"},
        {"/netwrok", [](Json& j) { j["netwrok"] = "yes"; }, "did you mean \"network\"?"},
        {"", [](Json& j) { j.erase("refs"); }, "\"refs\" is required"},
        {"/repository", [](Json& j) { j["repository"] = "parser"; }, "an absolute path"},
        {"/network", [](Json& j) { j["network"] = true; }, "no, yes"},
        {"/adapters/0", [](Json& j) { j["adapters"] = {"google-benchmrk"}; },
         "did you mean \"google-benchmark\"?"},
        {"/arguments/rounds/pattern", [](Json& j) { j["arguments"]["rounds"]["pattern"] = "[0-"; },
         "regular expression"},
        {"/arguments/rounds/example", [](Json& j) { j["arguments"]["rounds"]["example"] = "1000"; },
         "matches [0-9]{1,3}"},
        {"/run/0/0", [](Json& j) { j["run"][0][0] = "{filter}"; }, "a fixed program"},
        {"/run/0/1", [](Json& j) { j["run"][0][1] = "{files...}"; }, "the whole last word"},
        {"/run/0/2", [](Json& j) { j["run"][0][2] = "{other}"; }, "add \"other\""},
        {"/arguments/files", [](Json& j) { j["run"].erase(1); }, "that \"run\" uses"},
        {"/name", [](Json& j) { j["name"] = "parser2"; }, "the file's name"},
        {"/env_allowed/THREADS", [](Json& j) { j["env_allowed"]["THREADS"] = "("; }, "regular"},
        {"/limits/processes", [](Json& j) { j["limits"]["processes"] = 0; }, "whole number"},
        {"/limits/cpus", [](Json& j) { j["limits"]["cpus"] = "all"; }, "such as 1 or 2-3,6"},
    };
    for (const Mistake& mistake : mistakes) {
        Json file = registration();
        mistake.make(file);
        const ProgramResult result = parse_program(file.dump(1), "parser");
        EXPECT_FALSE(result.program) << mistake.pointer;
        bool found = false;
        for (const SpecError& error : result.errors) {
            found = found || (error.pointer == mistake.pointer &&
                              describe(error, "f").find(mistake.text) != std::string::npos);
        }
        EXPECT_TRUE(found) << mistake.pointer << " " << mistake.text << ": "
                           << (result.errors.empty() ? "" : describe(result.errors[0], "f"));
    }
    EXPECT_FALSE(parse_program("{", "").program);
}

class RegistryFolder : public ::testing::Test {
protected:
    void SetUp() override {
        ::setenv("STEADY_STATE_DIR", place_.beside("state").c_str(), 1);
        fs::create_directories(place_.beside("state"));
        place_.write("file", "one\n");
        place_.commit("first");
        place_.git({"branch", "release/1"});
        place_.git({"checkout", "--quiet", "-b", "wip"});
        place_.write("file", "two\n");
        place_.commit("second");
    }
    void TearDown() override { ::unsetenv("STEADY_STATE_DIR"); }
    std::string file(const Json& json) const {
        std::ofstream(place_.beside("new.json")) << json.dump(1);
        return place_.beside("new.json");
    }
    Json here() const {
        Json json = registration();
        json["repository"] = place_.path();
        return json;
    }

    GitFixture place_;
};

TEST_F(RegistryFolder, AddsListsAndFinds) {
    EXPECT_THAT(load_programs(programs_folder()), IsEmpty());
    add_program_file(programs_folder(), file(here()), false);
    const auto programs = load_programs(programs_folder());
    ASSERT_EQ(programs.size(), 1u);
    EXPECT_EQ(find_program(programs, "parser").repository, place_.path());
    try {
        find_program(programs, "parsr");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("did you mean \"parser\"?"));
    }
    EXPECT_THROW(add_program_file(programs_folder(), file(here()), false), Error);
    EXPECT_NO_THROW(add_program_file(programs_folder(), file(here()), true));
}

TEST_F(RegistryFolder, RefusesPlacesThatMustStayHidden) {
    for (const std::string& folder :
         {std::string("/"), place_.beside("state"), place_.beside("state") + "/builds"}) {
        Json json = here();
        fs::create_directories(folder);
        json["readable"] = {folder};
        EXPECT_THROW(add_program_file(programs_folder(), file(json), false), Error) << folder;
    }
    Json json = here();
    json["repository"] = "/no/such/repository";
    EXPECT_THROW(add_program_file(programs_folder(), file(json), false), Error);
}

TEST_F(RegistryFolder, TheNewestAllowedRevision) {
    RegisteredProgram program = parser();
    program.repository = place_.path();
    const Source source(place_.path());
    EXPECT_EQ(allowed_revision(program, source).subject, "first");
    program.refs = {"wip"};
    EXPECT_EQ(allowed_revision(program, source).subject, "second");
    program.refs = {"none"};
    EXPECT_THROW(allowed_revision(program, source), Error);
}

}  // namespace
}  // namespace steady
