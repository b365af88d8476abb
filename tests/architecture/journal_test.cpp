// The committed journal: every record has its entry, every cited entry its record, and the table
// over the seeds' questions agrees with the entries.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/guides.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
const fs::path kJournal = fs::path(STEADY_SOURCE_DIR) / "journal";
const fs::path kRecords = fs::path(STEADY_SOURCE_DIR) / "experiments" / "records";

// The lines "key: value" between the two lines of dashes that open an entry, unquoted.
std::map<std::string, std::string> front_matter(const fs::path& entry) {
    std::map<std::string, std::string> fields;
    std::ifstream in(entry);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line) && line != "---") {
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        std::string value = line.substr(colon + 2);
        if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
        fields[line.substr(0, colon)] = value;
    }
    return fields;
}

std::map<std::string, std::map<std::string, std::string>> entries() {
    std::map<std::string, std::map<std::string, std::string>> found;
    for (const auto& file : fs::directory_iterator(kJournal)) {
        const std::string name = file.path().filename().string();
        if (file.path().extension() == ".md" && name != "README.md") {
            found[name] = front_matter(file.path());
        }
    }
    return found;
}

std::set<std::string> ids_of_records() {
    std::set<std::string> ids;
    for (const auto& file : fs::directory_iterator(kRecords)) {
        const std::string name = file.path().filename().string();
        ids.insert(name.substr(0, name.find(".steady.json")));
    }
    return ids;
}

// Entries that the project's own pages and defaults rest on.
std::set<std::string> cited_entries() {
    const std::regex cited(R"(\d{4}-\d\d-\d\d-[a-z0-9-]+\.md)");
    std::set<std::string> names;
    std::vector<fs::path> pages = {fs::path(STEADY_SOURCE_DIR) / "engine/exec/champions.cpp"};
    for (const Guide& guide : read_guides(STEADY_SOURCE_DIR)) {
        pages.push_back(fs::path(STEADY_SOURCE_DIR) / guide.path);
    }
    std::set<std::string> benchmarks;
    for (const auto& file : fs::directory_iterator(kJournal / "benchmarks")) {
        pages.push_back(file.path());
        benchmarks.insert(file.path().filename().string());
    }
    for (const fs::path& page : pages) {
        std::ifstream in(page);
        for (std::string line; std::getline(in, line);) {
            for (std::sregex_iterator it(line.begin(), line.end(), cited), end; it != end; ++it) {
                if (!benchmarks.contains(it->str())) names.insert(it->str());
            }
        }
    }
    return names;
}

TEST(Journal, EachBenchmarkStandsInTheTableOfItsGuide) {
    std::ifstream in(kJournal / "README.md");
    const std::string guide{std::istreambuf_iterator<char>(in), {}};
    for (const auto& file : fs::directory_iterator(kJournal / "benchmarks")) {
        const std::string name = file.path().filename().string();
        EXPECT_NE(guide.find("(benchmarks/" + name + ")"), std::string::npos)
            << "journal/README.md: no row for journal/benchmarks/" << name;
    }
}

// Entries that a user's own runs left here need no record in the repository; those that the project
// cites do.
TEST(Journal, RecordsHaveEntriesAndCitedEntriesHaveRecords) {
    const auto known = entries();
    const std::set<std::string> of_records = ids_of_records();
    std::set<std::string> of_entries;
    for (const auto& [name, fields] : known) of_entries.insert(fields.at("id"));
    EXPECT_FALSE(of_records.empty());
    for (const std::string& id : of_records) {
        EXPECT_TRUE(of_entries.contains(id))
            << "experiments/records holds " << id << ", and no entry in journal/ has that id";
    }
    const std::set<std::string> cited = cited_entries();
    EXPECT_GT(cited.size(), 50U);
    for (const std::string& name : cited) {
        ASSERT_TRUE(known.contains(name)) << "no entry journal/" << name;
        EXPECT_TRUE(of_records.contains(known.at(name).at("id")))
            << "journal/" << name << " is cited and has no record in experiments/records";
    }
}

TEST(Journal, TheTableSaysWhatTheEntriesSay) {
    const auto known = entries();
    std::ifstream in(kJournal / "benchmarks" / "2026-11-22-questions-asked-again.md");
    const std::regex link(R"(\(\.\./(\d{4}-\d\d-\d\d-[a-z0-9-]+\.md)\))");
    const std::regex effect(R"(([+−])(\d+\.\d\d) %)");
    int rows = 0;
    for (std::string line; std::getline(in, line);) {
        std::smatch found;
        if (line.empty() || line[0] != '|' || !std::regex_search(line, found, link)) continue;
        ++rows;
        ASSERT_TRUE(known.contains(found[1])) << line;
        const auto& fields = known.at(found[1]);
        EXPECT_NE(line.find(fields.at("verdict")), std::string::npos) << line;
        std::smatch shown;
        const std::string rest = found.suffix();
        if (!fields.contains("effect") || fields.at("effect") == "null") continue;
        ASSERT_TRUE(std::regex_search(rest, shown, effect)) << line;
        const double sign = shown[1] == "+" ? 1 : -1;
        EXPECT_NEAR(sign * std::stod(shown[2]), 100 * std::stod(fields.at("effect")), 0.0051)
            << line;
    }
    EXPECT_GT(rows, 5);
}

}  // namespace
}  // namespace steady
