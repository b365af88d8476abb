// The guides, read: files that they name exist, links lead somewhere, and a block of commands says
// that it is one, so that tests/documents runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/guides.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
const fs::path kHouse = STEADY_SOURCE_DIR;

// "engine/model/forward.cpp"; patterns such as "kernels/<op>/op.h" name no single file, and files
// "experiments/my-…" are the reader's.
TEST(Documents, FilesNamedInCodeExist) {
    const std::regex named(
        R"re(`((?:kernels|engine|runner|dashboard|tests|experiments|journal|\.ci)/[A-Za-z0-9_./-]+)`)re");
    int n_named = 0;
    for (const Guide& guide : read_guides(kHouse)) {
        for (const std::string& line : guide.lines) {
            for (std::sregex_iterator it(line.begin(), line.end(), named), end; it != end; ++it) {
                ++n_named;
                if ((*it)[1].str().starts_with("experiments/my-")) continue;
                EXPECT_TRUE(fs::exists(kHouse / (*it)[1].str()))
                    << guide.path << " names " << (*it)[1];
            }
        }
    }
    EXPECT_GT(n_named, 100) << "the test read no names: it would never fail";
}

TEST(Documents, LinksLeadToFiles) {
    const std::regex link(R"re(\]\(([^)#:\s]+)(?:#[^)]*)?\))re");
    int n_links = 0;
    for (const Guide& guide : read_guides(kHouse)) {
        for (const std::string& line : guide.lines) {
            for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
                ++n_links;
                const fs::path target = (kHouse / guide.path).parent_path() / (*it)[1].str();
                EXPECT_TRUE(fs::exists(target)) << guide.path << " links to " << (*it)[1];
            }
        }
    }
    EXPECT_GT(n_links, 100) << "the test read no links: it would never fail";
}

TEST(Documents, EntriesOfTheJournalLinkToFiles) {
    const std::regex link(R"re(\]\(([a-z0-9-]+\.(?:md|svg))\))re");
    int n_links = 0;
    for (const auto& entry : fs::directory_iterator(kHouse / "journal")) {
        if (entry.path().extension() != ".md") continue;
        std::stringstream read;
        read << std::ifstream(entry.path()).rdbuf();
        const std::string text = read.str();
        for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
            ++n_links;
            EXPECT_TRUE(fs::exists(kHouse / "journal" / (*it)[1].str()))
                << entry.path().filename() << " links to " << (*it)[1];
        }
    }
    EXPECT_GT(n_links, 100) << "the test read no links: it would never fail";
}

TEST(Documents, CommandsStandInBlocksThatAreRun) {
    const std::regex command(
        R"re(^\s*(\$ )?(\./steady|steady|steady-[a-z]+|ctest|cmake|node|git) )re");
    const std::set<std::string> known = {"",   "sh",   "cpp",  "json", "jsonc", "sql",
                                         "js", "text", "yaml", "diff", "nginx"};
    for (const Guide& guide : read_guides(kHouse)) {
        for (const Block& block : guide.blocks) {
            const std::string where = guide.path + ":" + std::to_string(block.line);
            EXPECT_TRUE(known.contains(block.language)) << where << ": ```" << block.language;
            if (block.language == "sh") {
                const bool run = block.note.empty();
                EXPECT_TRUE(run || block.note.starts_with("not run: ")) << where << block.note;
                EXPECT_TRUE(run || block.note.size() > 20) << where << ": give the reason";
                continue;
            }
            for (const std::string& line : block.lines) {
                EXPECT_FALSE(std::regex_search(line, command))
                    << where << ": open the block with ```sh, so that a test runs it: " << line;
            }
        }
    }
}

std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// Which test shows what: each name is that of a test.
TEST(Documents, TestsNamedForReliabilityExist) {
    std::set<std::string> tests;
    const std::regex declared(R"re(TEST(?:_F|_P)?\((\w+), (\w+)\))re");
    for (const auto& entry : fs::recursive_directory_iterator(kHouse / "tests")) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = text_of(entry.path());
        for (std::sregex_iterator it(text.begin(), text.end(), declared), end; it != end; ++it) {
            tests.insert((*it)[1].str() + "." + (*it)[2].str());
        }
    }
    const std::string page = text_of(kHouse / "runner/queue/RELIABILITY.md");
    const std::regex named(R"re(`([A-Z]\w+\.\w+)`)re");
    int n_named = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), named), end; it != end; ++it) {
        ++n_named;
        EXPECT_TRUE(tests.contains((*it)[1])) << "RELIABILITY.md names " << (*it)[1];
    }
    EXPECT_GT(n_named, 50) << "the test read no names: it would never fail";
}

int day_number(const std::string& date) {  // "2026-11-25"; good enough to count 90 days
    return 372 * std::stoi(date.substr(0, 4)) + 31 * std::stoi(date.substr(5, 2)) +
           std::stoi(date.substr(8, 2));
}

TEST(Documents, FiguresOfTheLongDrillsAreNotOlderThanTheReleaseAllows) {
    const std::string page = text_of(kHouse / "runner/queue/RELIABILITY.md"),
                      changes = text_of(kHouse / "CHANGELOG.md");
    std::smatch figures, release;
    ASSERT_TRUE(
        std::regex_search(page, figures, std::regex(R"re((\d{4}-\d\d-\d\d)-reliability)re")));
    ASSERT_TRUE(
        std::regex_search(changes, release, std::regex(R"re(## \S+, (\d{4}-\d\d-\d\d))re")));
    EXPECT_LE(day_number(release[1]) - day_number(figures[1]), 93)
        << "run the long drills again and publish their figures: runner/queue/RELIABILITY.md";
}

}  // namespace
}  // namespace steady
