// A command that the product or its guides tell somebody to type must be one that it takes, options
// and all, even where the text is broken over two lines of code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "runner/cli/verbs.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

const Verb* verb_of(const std::vector<std::string>& words) {
    const Verb* found = nullptr;
    for (const Verb& verb : verbs()) {
        const std::vector<std::string> name = words_of(std::string(verb.name));
        if (name.size() > words.size()) continue;
        if (!std::equal(name.begin(), name.end(), words.begin())) continue;
        if (found == nullptr || verb.name.size() > found->name.size()) found = &verb;
    }
    return found;
}

bool takes(const Verb& verb, const std::string& option) {
    const auto is_it = [&](const Option& one) { return one.name == option; };
    const auto common = common_options();
    return option == "help" || std::any_of(verb.options.begin(), verb.options.end(), is_it) ||
           std::any_of(common.begin(), common.end(), is_it);
}

TEST(Hints, NameVerbsAndOptionsThatExist) {
    const std::regex joint(R"re("\s*\n\s*")re");
    const std::regex hint(R"re(steady ([a-z][^`";,|()#\n]*))re");
    const std::regex option(R"re((?:^|\s)--([a-z][a-z-]*))re");
    int n_options = 0;
    for (const char* folder : {"runner", "dashboard/server", "dashboard/DEPLOY.md",
                               "dashboard/README.md", "runner/queue/README.md"}) {
        std::vector<fs::path> files;
        const fs::path root = fs::path(STEADY_SOURCE_DIR) / folder;
        if (fs::is_regular_file(root)) files.push_back(root);
        if (fs::is_directory(root)) {
            for (const auto& entry : fs::recursive_directory_iterator(root)) {
                if (entry.path().extension() == ".cpp") files.push_back(entry.path());
            }
        }
        for (const fs::path& file : files) {
            const std::string text = std::regex_replace(text_of(file), joint, "");
            for (std::sregex_iterator it(text.begin(), text.end(), hint), end; it != end; ++it) {
                const std::string said = (*it)[1];
                const Verb* verb = verb_of(words_of(said));
                for (std::sregex_iterator o(said.begin(), said.end(), option), none; o != none;
                     ++o) {
                    ++n_options;
                    ASSERT_NE(verb, nullptr) << file << ": steady " << said;
                    EXPECT_TRUE(takes(*verb, (*o)[1])) << file << ": steady " << said;
                }
            }
        }
    }
    EXPECT_GT(n_options, 20);
}

}  // namespace
}  // namespace steady
