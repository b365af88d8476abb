// What people hand in is refused while it holds the template's placeholders, or a cell that nothing
// measures; what is stored is read as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

std::string with(const std::string& key, const std::string& value) {
    std::string text = read_file(data_path("specs/good/burn-1.json"));
    const std::size_t at = text.find("\"" + key + "\": \"") + key.size() + 5;
    return text.replace(at, text.find('"', at) - at, value);
}

std::vector<std::string> pointers(const std::string& text) {
    std::vector<std::string> all;
    for (const SpecError& error : parse_question(text, "").errors) {
        all.push_back(error.pointer);
        EXPECT_GT(error.line, 0);
        EXPECT_EQ(error.allowed, "your own sentence");
    }
    return all;
}

TEST(SpecPlaceholder, IsRefusedWhereSentencesStand) {
    using Pointers = std::vector<std::string>;
    EXPECT_EQ(pointers(with("claim", "<claim: what should get faster>")),
              Pointers{"/hypothesis/claim"});
    EXPECT_EQ(pointers(with("because", "<because: the mechanism>")),
              Pointers{"/hypothesis/because"});
    EXPECT_EQ(pointers(with("owner", "<owner>")), Pointers{"/owner"});
    EXPECT_EQ(pointers(with("claim", "What should get faster, in one sentence")),
              Pointers{"/hypothesis/claim"})
        << "the template's own words before placeholders had brackets";
    EXPECT_EQ(pointers(with("claim", "A token <eos> costs less")), Pointers{});
    EXPECT_EQ(pointers(with("owner", "<svg onload=alert(1)>")), Pointers{})
        << "text like any other";
}

TEST(SpecPlaceholder, StoredSpecificationsAreReadAsTheyAre) {
    const std::string text = with("claim", "What should get faster, in one sentence");
    ASSERT_TRUE(parse_spec(text, "").spec);
    EXPECT_FALSE(parse_question(text, "").spec);
    EXPECT_EQ(parse_spec(with("owner", "kim"), "").spec->sha256,
              parse_question(with("owner", "kim"), "").spec->sha256);
}

// The text with one part of it replaced.
std::string changed(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(SpecMatrix, ACellThatNoGateMeasuresIsRefused) {
    const std::string good = read_file(data_path("specs/good/llama-graph-reuse.json"));
    EXPECT_TRUE(parse_question(good, "").spec);
    const std::string wide = changed(good, "[512, 8192]", "[512, 8192, 16384]");
    EXPECT_TRUE(parse_spec(wide, "").spec) << "stored before it was refused";
    const SpecResult refused = parse_question(wide, "");
    ASSERT_EQ(refused.errors.size(), 1U);
    EXPECT_EQ(refused.errors[0].pointer, "/matrix");
    EXPECT_THAT(refused.errors[0].found, testing::HasSubstr("\"ctx\": \"16384\""));
    EXPECT_THAT(refused.errors[0].hint, testing::HasSubstr("add a gate at this cell"));
}

TEST(SpecBuild, FillsInThePlaceAndTheNumberOfJobsOnly) {
    const std::string good = read_file(data_path("specs/good/llama-graph-reuse.json"));
    EXPECT_TRUE(parse_question(changed(good, "\"-j2\"", "\"-j{jobs}\""), "").spec);
    const SpecResult refused = parse_question(changed(good, "\"-j2\"", "\"-j{ctx}\""), "");
    ASSERT_EQ(refused.errors.size(), 1U) << "both cells share a build";
    EXPECT_EQ(refused.errors[0].allowed, "{src}, {jobs}");
}

}  // namespace
}  // namespace steady
