// Regular expressions and metrics, on which files and verdicts depend.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "runner/base/metrics.h"
#include "runner/base/pattern.h"

namespace steady {
namespace {

TEST(Patterns, MatchTheWholeText) {
    const Pattern pattern("([a-z]+)(?:-([0-9]+))?");
    EXPECT_TRUE(pattern.matches("ab"));
    EXPECT_FALSE(pattern.matches("ab\n"));
    EXPECT_FALSE(pattern.matches("ab-"));
    EXPECT_FALSE(pattern.matches(""));
    const auto groups = pattern.match("ab-12");
    ASSERT_TRUE(groups.has_value());
    EXPECT_EQ(*groups, (std::vector<std::string>{"ab-12", "ab", "12"}));
    EXPECT_EQ(pattern.match("ab")->at(2), "");
    EXPECT_TRUE(Pattern("^[a-z]+$").matches("ab"));
    EXPECT_FALSE(Pattern("^[a-z]+$").matches("ab\n"));
}

TEST(Patterns, SearchAndReplace) {
    const Pattern digits("(?<n>[0-9]+)");
    const auto found = digits.search("a1 b22", 2);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->begin, 4U);
    EXPECT_EQ(found->groups[digits.named_groups().at(0).second], "22");
    EXPECT_EQ(digits.replaced("a1 b22c", "<$1>"), "a<1> b<22>c");
    EXPECT_EQ(Pattern("x*").replaced("ab", "-"), "-a-b-");
    EXPECT_EQ(digits.replaced("", "-"), "");
}

TEST(Patterns, WrongOrEndlessOnesAreErrors) {
    EXPECT_THROW(Pattern("("), Error);
    const Pattern slow("(a+)+$");
    EXPECT_THROW(slow.search(std::string(40, 'a') + "!"), Error);
    EXPECT_TRUE(Pattern("(.|x)*").matches(std::string(100000, 'y')));  // long is not slow
}

TEST(Metrics, TheTableDecides) {
    EXPECT_EQ(find_metric("decode_tps").raw, "token_ns");
    EXPECT_TRUE(find_metric("decode_tps").rate_of_raw);
    EXPECT_TRUE(higher_is_better("decode_tps"));
    EXPECT_FALSE(higher_is_better("wall_seconds"));
    EXPECT_EQ(find_metric("peak_memory_bytes").unit, "bytes");
    EXPECT_EQ(find_metric("instructions").direction, Direction::lower_is_better);
    for (const Metric& metric : known_metrics()) {
        EXPECT_EQ(metric_name(metric.name), metric.name);
        EXPECT_FALSE(metric.meaning.empty() || metric.unit.empty()) << metric.name;
        EXPECT_TRUE(metric.direction.has_value()) << metric.name;
        EXPECT_EQ(find_metric(metric.name).unit, metric.unit) << "two of " << metric.name;
    }
}

TEST(Metrics, EndingsDecideElsewhere) {
    const Metric tail = find_metric("token_ns_p90");
    EXPECT_EQ(tail.raw, "token_ns");
    EXPECT_EQ(tail.unit, "ns");
    EXPECT_EQ(tail.aggregation, Aggregation::p90);
    EXPECT_EQ(find_metric("parse_ns").direction, Direction::lower_is_better);
    EXPECT_EQ(find_metric("requests_per_s").direction, Direction::higher_is_better);
    EXPECT_EQ(find_metric("frames_tps").unit, "tok/s");
    EXPECT_FALSE(find_metric("score").direction.has_value());
    EXPECT_EQ(find_metric("score").unit, "");
    EXPECT_EQ(find_metric("score_mean").raw, "score");
    EXPECT_EQ(direction_of_unit("MB/s"), Direction::higher_is_better);
    EXPECT_EQ(direction_of_unit("ns"), Direction::lower_is_better);
    EXPECT_FALSE(direction_of_unit("answers").has_value());
    EXPECT_EQ(metric_name("Cache Lines/op"), "cache_lines_op");
    EXPECT_EQ(metric_name("99th"), "m_99th");
}

}  // namespace
}  // namespace steady
