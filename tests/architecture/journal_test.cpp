// The committed journal: every entry has its record, and the table over the seeds' questions says
// what the entries say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

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

TEST(Journal, EveryEntryHasItsRecord) {
    std::set<std::string> of_entries;
    std::set<std::string> of_records;
    for (const auto& [name, fields] : entries()) of_entries.insert(fields.at("id"));
    for (const auto& file : fs::directory_iterator(kRecords)) {
        const std::string name = file.path().filename().string();
        of_records.insert(name.substr(0, name.find('.')));
    }
    EXPECT_FALSE(of_entries.empty());
    EXPECT_EQ(of_entries, of_records);
}

TEST(Journal, TheTableSaysWhatTheEntriesSay) {
    const auto known = entries();
    std::ifstream in(kJournal / "README.md");
    const std::regex link(R"(\((\d{4}-\d\d-\d\d-[a-z0-9-]+\.md)\))");
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
