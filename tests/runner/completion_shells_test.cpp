// Completion in the three shells themselves: each reads its script, and what it then offers is
// compared with the table of verbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "kernels/base/error.h"
#include "runner/cli/completion.h"
#include "runner/cli/verbs.h"
#include "tests/support/shell_output.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using Offers = std::map<std::string, std::set<std::string>>;  // line → what is offered at its end
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

class Completion : public ::testing::TestWithParam<std::string> {
protected:
    Completion() {
        std::string pattern = (fs::temp_directory_path() / "steady-complete-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        fs::create_directories(folder_ / "here/folder");
        std::ofstream(folder_ / "here/file.json") << "{}";
    }
    ~Completion() override { fs::remove_all(folder_); }

    Offers offers(const std::vector<std::string>& lines) const {
        const std::string& shell = GetParam();
        std::ofstream(folder_ / "script") << completion_script(shell, verbs());
        std::ofstream input(folder_ / "lines");
        for (const std::string& line : lines) input << line << "\n";
        input.close();
        const std::string command = "cd '" + (folder_ / "here").string() + "' && HOME=.. " + shell +
                                    (shell == "zsh" ? " -f" : "") +
                                    " " STEADY_SOURCE_DIR "/tests/runner/tool/complete." + shell +
                                    " ../script <../lines";
        const auto [text, code] = shell_output(command);
        EXPECT_EQ(code, 0) << "is it there? apt-get install " << shell << "\n" << text;
        Offers found;
        std::istringstream rows(text);
        for (std::string row; std::getline(rows, row);) {
            const std::size_t tab = row.find('\t');
            std::string offer = row.substr(tab + 1);
            if (offer.ends_with('/')) offer.pop_back();
            found[row.substr(0, tab)].insert(offer);
        }
        return found;
    }

private:
    fs::path folder_;
};

TEST_P(Completion, OffersTheOptionsOfEveryVerb) {
    std::vector<std::string> lines;
    for (const Verb& verb : verbs()) lines.push_back("steady " + std::string(verb.name) + " --");
    Offers found = offers(lines);
    for (const Verb& verb : verbs()) {
        std::set<std::string> wanted;
        for (const Option& option : verb.options) wanted.insert("--" + std::string(option.name));
        for (const Option& option : common_options())
            wanted.insert("--" + std::string(option.name));
        EXPECT_EQ(found["steady " + std::string(verb.name) + " --"], wanted) << verb.name;
    }
}

TEST_P(Completion, OffersWordsFilesAndFoldersWhereTheyBelong) {
    Offers found =
        offers({"steady ", "steady va", "steady db st", "steady help db",
                "steady fault-test --synchronous-commit ", "steady completion ",
                "steady validate f", "steady index f", "steady init x --from f",
                "steady init x --claim f", "steady queue f", "steady worker --models f"});
    EXPECT_THAT(found["steady "], IsSupersetOf({"help", "run", "db", "stats", "serve"}));
    EXPECT_THAT(found["steady va"], ElementsAre("validate"));
    EXPECT_THAT(found["steady db st"], ElementsAre("start", "status", "stop"));
    EXPECT_THAT(found["steady help db"], ElementsAre("db"));
    EXPECT_THAT(found["steady fault-test --synchronous-commit "], ElementsAre("off", "on"));
    EXPECT_THAT(found["steady completion "], IsSupersetOf({"bash", "fish", "zsh"}));
    EXPECT_THAT(found["steady validate f"], IsSupersetOf({"file.json", "folder"}));
    EXPECT_THAT(found["steady index f"], ElementsAre("folder"));
    EXPECT_THAT(found["steady init x --from f"], IsSupersetOf({"file.json", "folder"}));
    EXPECT_THAT(found["steady worker --models f"], ElementsAre("folder"));
    EXPECT_FALSE(found.contains("steady init x --claim f"));  // free text
    EXPECT_FALSE(found.contains("steady queue f"));           // takes no words
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& one) { return one.param; });

TEST(CompletionScript, UnknownShellIsRefused) {
    EXPECT_EQ(completion_shells().size(), 3U);
    EXPECT_THROW(completion_script("csh", verbs()), Error);
}

}  // namespace
}  // namespace steady
