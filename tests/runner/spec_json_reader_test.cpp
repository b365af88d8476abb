// The reader alone: positions, comments, escapes, limits, canonical form.
#include <gtest/gtest.h>

#include "runner/base/json_reader.h"

namespace steady {
namespace {

JsonValue parsed(const std::string& text) {
    const JsonDocument document = read_json(text);
    EXPECT_TRUE(document.problems.empty())
        << text << ": " << document.problems.at(0).found << ", " << document.problems.at(0).allowed;
    return document.root.value_or(JsonValue{});
}

void bad(const std::string& text, int line, int column) {
    const JsonDocument document = read_json(text);
    EXPECT_FALSE(document.root) << text;
    ASSERT_EQ(document.problems.size(), 1U) << text;
    EXPECT_EQ(document.problems[0].line, line) << text;
    EXPECT_EQ(document.problems[0].column, column) << text;
}

TEST(SpecJsonReader, PositionsCountCharacters) {
    const JsonValue root = parsed("// é\n{ \"ä\": 1,\n  /* x\n */ \"b\": [true, {\"c\": null}] }");
    EXPECT_EQ(root.line, 2);
    EXPECT_EQ(root.members[0].line, 2);
    EXPECT_EQ(root.members[0].column, 3);
    EXPECT_EQ(root.members[0].value.column, 8);
    EXPECT_EQ(root.members[1].line, 4);
    EXPECT_EQ(root.members[1].column, 5);
    const JsonValue* c = resolve_pointer(root, "/b/1/c");
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->line, 4);
    EXPECT_EQ(c->column, 23);
}

TEST(SpecJsonReader, EveryKindOfSyntaxErrorHasItsPlace) {
    bad("", 1, 1);
    bad("{", 1, 2);
    bad("{\"a\"}", 1, 5);
    bad("{\"a\":}", 1, 6);
    bad("{\"a\":1,}", 1, 8);
    bad("[1,]", 1, 4);
    bad("[1 2]", 1, 4);
    bad("{a:1}", 1, 2);
    bad("tru", 1, 1);
    bad("True", 1, 1);
    bad("1 x", 1, 3);
    bad("01", 1, 2);
    bad("-", 1, 2);
    bad("1.", 1, 3);
    bad("1e", 1, 3);
    bad("+1", 1, 1);
    bad(".5", 1, 1);
    bad("\"a\nb\"", 1, 1);
    bad("\"a", 1, 1);
    bad("\"\\x\"", 1, 3);
    bad("\"\\u12g4\"", 1, 6);
    bad("\"\\ud800\"", 1, 8);
    bad("/", 1, 1);
    bad("{} /* x", 1, 4);
    bad(std::string("\"\0\"", 3), 1, 2);
    bad("\"\t\"", 1, 2);
    bad("[\xff]", 1, 2);
}

TEST(SpecJsonReader, EscapesAndPairs) {
    EXPECT_EQ(parsed("\"\\u00e9\\n\\\"\\\\\\/\\ud83d\\ude00\"").text, "é\n\"\\/😀");
    EXPECT_EQ(parsed("\xEF\xBB\xBF{}").kind, JsonValue::Kind::object);  // a byte order mark
}

TEST(SpecJsonReader, DepthIsLimited) {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_TRUE(read_json(nested(32)).root);
    EXPECT_FALSE(read_json(nested(33)).root);
    EXPECT_FALSE(read_json(std::string(200000, '[')).root);
}

TEST(SpecJsonReader, DuplicatesAreReportedAndTheFirstIsKept) {
    const JsonDocument document = read_json("{\"a\": 1, \"b\": {\"~/\": 1, \"~/\": 2}, \"a\": 3}");
    ASSERT_TRUE(document.root);
    ASSERT_EQ(document.problems.size(), 2U);
    EXPECT_EQ(document.problems[0].pointer, "/b/~0~1");
    EXPECT_EQ(document.problems[1].pointer, "/a");
    EXPECT_EQ(document.root->find("a")->text, "1");
    EXPECT_NE(resolve_pointer(*document.root, "/b/~0~1"), nullptr);
}

TEST(SpecJsonReader, CanonicalForm) {
    EXPECT_EQ(
        canonical_json(parsed("{ \"b\": [1.0, 1e2, -0, 0.10, 1E-7], \"a\": \"\\u0041\\t\" }")),
        "{\"a\":\"A\\t\",\"b\":[1,100,0,0.1,1e-07]}");
    EXPECT_EQ(canonical_json(parsed("18446744073709551615")), "18446744073709551615");
    EXPECT_EQ(canonical_json(parsed("[true,false,null,{}]")), "[true,false,null,{}]");
}

TEST(SpecJsonReader, NumbersAreStrict) {
    EXPECT_EQ(parsed("7").unsigned_integer(), 7U);
    EXPECT_FALSE(parsed("7.0").unsigned_integer());
    EXPECT_FALSE(parsed("-7").unsigned_integer());
    EXPECT_FALSE(parsed("18446744073709551616").unsigned_integer());
    EXPECT_FALSE(parsed("1e400").number());
    EXPECT_EQ(parsed("1e-3").number(), 1e-3);
    EXPECT_FALSE(parsed("\"7\"").number());
}

TEST(SpecJsonReader, PointersThatDoNotExist) {
    const JsonValue root = parsed("{\"a\": [1]}");
    for (const char* pointer : {"/b", "/a/1", "/a/x", "/a/0/c", "/a/-1", "/a/"}) {
        EXPECT_EQ(resolve_pointer(root, pointer), nullptr) << pointer;
    }
    EXPECT_EQ(resolve_pointer(root, ""), &root);
}

}  // namespace
}  // namespace steady
