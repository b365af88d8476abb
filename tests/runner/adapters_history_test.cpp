// Histories of other programs, read from real files; and what stands in a path or in a time.
// STEADY_WRITE_GOLDEN=1 writes the expected points instead.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/adapters/history.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kHistoryFolder = std::string(STEADY_SOURCE_DIR) + "/tests/data/history/";

std::string history_text(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::vector<AdapterFile> history_files_of(const std::string& folder) {
    std::vector<AdapterFile> out;
    for (const auto& one : fs::recursive_directory_iterator(folder)) {
        if (one.is_regular_file()) {
            out.push_back({fs::relative(one.path(), folder).string(), history_text(one.path())});
        }
    }
    std::sort(out.begin(), out.end(),
              [](const AdapterFile& a, const AdapterFile& b) { return a.path < b.path; });
    return out;
}

std::string shown_history(const History& history) {
    std::string out = "project " + history.project + "\n";
    for (const HistoryPoint& one : history.points) {
        const auto bound = [](const std::optional<double>& value) {
            return value ? fmt::format("{}", *value) : std::string("-");
        };
        out +=
            fmt::format("{} {} {} {} {} [{} {}] {} {} {} {} {} {}\n", one.benchmark, one.metric,
                        one.unit, name(one.direction), one.value, bound(one.low), bound(one.high),
                        one.commit, one.date, one.host, one.branch, one.machine, one.method);
    }
    for (const std::string& one : history.left_out) out += "left out: " + one + "\n";
    return out;
}

class AdaptersHistory : public ::testing::TestWithParam<const char*> {};

TEST_P(AdaptersHistory, PointsOfRealFiles) {
    const std::string name = GetParam(), golden = kHistoryFolder + name + ".points";
    const std::string found =
        shown_history(read_history(name, history_files_of(kHistoryFolder + name), ""));
    if (std::getenv("STEADY_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << found;
    EXPECT_EQ(found, history_text(golden));
}

INSTANTIATE_TEST_SUITE_P(All, AdaptersHistory,
                         ::testing::Values("asv", "bencher", "google-benchmark", "hyperfine",
                                           "criterion"),
                         [](const auto& one) {
                             std::string name = one.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(AdaptersHistoryText, CommitsInPaths) {
    const std::string whole = "ea3d56fb1242d60590eb7233682f7618e64b0995";
    EXPECT_EQ(commit_in_path("0001_" + whole + "_20230226_155638.json"), whole);
    EXPECT_EQ(commit_in_path("runs/1f3a9c2/bench.json"), "1f3a9c2");
    EXPECT_EQ(commit_in_path("runs/20230226/bench.json"), "") << "a date";
    EXPECT_EQ(commit_in_path("deadbeef.json"), "") << "a word";
    EXPECT_EQ(commit_in_path("bench.json"), "");
    EXPECT_EQ(commit_in_path(""), "");
}

TEST(AdaptersHistoryText, TimesInAnyZone) {
    EXPECT_EQ(utc_text(*seconds_of("2026-11-24T03:00:00+01:00")), "2026-11-24T02:00:00Z");
    EXPECT_EQ(utc_text(*seconds_of("2024-02-29 23:59:59.75Z")), "2024-02-29T23:59:59Z");
    EXPECT_EQ(utc_text(*seconds_of("1970-01-01T00:00:00-0130")), "1970-01-01T01:30:00Z");
    EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59Z");
    for (const char* bad : {"", "yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                            "2026-11-24", "2026-11-24T03:00:00+1", "2026-11-24T25:00:00Z"}) {
        EXPECT_FALSE(seconds_of(bad)) << bad;
    }
}

std::string history_failure(const std::string& adapter, const std::vector<AdapterFile>& files) {
    try {
        read_history(adapter, files, "");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(AdaptersHistoryText, WhatIsNoHistoryIsRefused) {
    EXPECT_THAT(history_failure("process", {}), HasSubstr("allowed asv, bencher"));
    EXPECT_THAT(history_failure("asv", {{"a.json", "{}"}}), HasSubstr("no benchmarks.json"));
    EXPECT_THAT(history_failure("bencher", {{"a.json", "[]"}}),
                HasSubstr("bencher output at a.json"));
    EXPECT_THAT(
        history_failure("bencher", {{"a.json", R"({"project": {"slug": "p"}, "results": []})"}}),
        HasSubstr("nothing to import"));
    EXPECT_THAT(history_failure("hyperfine", {{"1f3a9c2.json", "{}"}}), HasSubstr("1f3a9c2.json"));
}

}  // namespace
}  // namespace steady
