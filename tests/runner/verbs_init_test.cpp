// The first commands of a newcomer, by name and without a path, and what they answer while the
// template is not filled in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/steady_cli.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Init, AnUnfilledTemplateIsRefusedByNameOfWhatIsLeft) {
    const SteadyCli cli;
    const CliResult made = cli.run({"init", "my-idea"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("experiments/my-idea.json"));
    EXPECT_THAT(made.out, HasSubstr("steady validate my-idea"));
    for (const char* verb : {"validate", "run", "submit", "plan"}) {
        const CliResult refused = cli.run({verb, "my-idea"});
        EXPECT_EQ(refused.code, 2) << verb;
        const std::string said = refused.out + refused.err;
        EXPECT_THAT(said, HasSubstr("/hypothesis/claim: found the template's placeholder")) << verb;
        EXPECT_THAT(said, HasSubstr("/hypothesis/because: found the template's placeholder"));
        EXPECT_THAT(said, HasSubstr("your own sentence"));
    }
}

TEST(Init, AFilledTemplateIsValidAndFoundByItsName) {
    const SteadyCli cli;
    const CliResult made = cli.run({"init", "my-idea", "--claim", "B is \"faster\"", "--because",
                                    "it does less", "--owner", "kim"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, Not(HasSubstr("placeholder")));
    for (const char* name : {"my-idea", "my-idea.json", "experiments/my-idea.json"}) {
        const CliResult valid = cli.run({"validate", name});
        EXPECT_EQ(valid.code, 0) << name << valid.out << valid.err;
        EXPECT_THAT(valid.out, HasSubstr("experiments/my-idea.json: valid"));
    }
    EXPECT_EQ(cli.run({"init", "my-idea"}).code, 2) << "an existing file is not overwritten";
    const CliResult copied = cli.run({"init", "deeper", "--from", "my-idea", "--model",
                                      "tiny-glm.gguf", "--claim", "the same, of another model"});
    EXPECT_EQ(copied.code, 0) << copied.err;
    const nlohmann::json copy =
        nlohmann::json::parse(std::ifstream(cli.root() / "experiments/deeper.json"));
    EXPECT_EQ(copy.at("id"), "deeper");
    EXPECT_EQ(copy.at("subject").at("model"), "tiny-glm.gguf");
    EXPECT_EQ(copy.at("hypothesis").at("because"), "it does less");
    EXPECT_EQ(cli.run({"validate", "deeper"}).code, 0);
    const CliResult plan = cli.run({"plan", "deeper"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("steady run deeper"));
}

TEST(Init, AnUnknownNameIsAnsweredWithTheNearest) {
    const SteadyCli cli;
    EXPECT_EQ(cli.run({"init", "my-idea"}).code, 0);
    const CliResult refused = cli.run({"run", "my-idae"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("did you mean \"my-idea\"?"));
    EXPECT_THAT(refused.err, HasSubstr("`steady init NAME` writes a new file"));
}

// Whatever verb it was given to: the file, the system's reason, exit code 2.
TEST(FilesOfUsers, OneThatIsNotThereIsBadInput) {
    const SteadyCli cli;
    const std::vector<std::vector<std::string>> verbs = {{"validate"},
                                                         {"plan"},
                                                         {"run"},
                                                         {"stats", "check"},
                                                         {"replay"},
                                                         {"import"},
                                                         {"import", "--adapter", "asv"},
                                                         {"program", "add"}};
    for (std::vector<std::string> words : verbs) {
        words.push_back("not-here.json");
        const CliResult result = cli.run(words);
        EXPECT_EQ(result.code, 2) << words[0] << ": " << result.err;
        EXPECT_THAT(result.err, ::testing::HasSubstr("not-here.json")) << words[0];
    }
}

}  // namespace
}  // namespace steady
