// Text of strangers: what is escaped for which destination, what counts as a secret, what counts as
// a typing mistake.
#include <gtest/gtest.h>

#include "runner/base/text.h"

namespace steady {
namespace {

TEST(SpecText, ControlCharactersAreShownNotSent) {
    EXPECT_EQ(escape_line("a\nb\tc"), "a\\nb\\tc");
    EXPECT_EQ(escape_line("\x1b[31mred"), "\\x1b[31mred");
    EXPECT_EQ(escape_line("\x7f"), "\\x7f");
    EXPECT_EQ(escape_line("\xc2\x9b"), "\\x9b");  // C1: another way to say ESC [
    EXPECT_EQ(escape_line("\xe2\x80\xae"
                          "x"),
              "\\u202ex");  // right-to-left override
    EXPECT_EQ(escape_line("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(escape_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
    EXPECT_EQ(escape_line("é − 漢 😀"), "é − 漢 😀");
    EXPECT_EQ(escape_line(std::string_view("\0", 1)), "\\x00");
}

TEST(SpecText, MalformedUtf8IsFoundWhereItBegins) {
    EXPECT_FALSE(first_invalid_utf8("é − 漢 😀"));
    for (const char* bad : {"ab\x80", "ab\xc0\xaf", "ab\xe0\x80\xaf", "ab\xf0\x80\x80\xaf",
                            "ab\xf4\x90\x80\x80", "ab\xed\xbf\xbf", "ab\xe2\x82", "ab\xf8"}) {
        EXPECT_EQ(first_invalid_utf8(bad), 2U);
    }
}

TEST(SpecText, ShorteningKeepsWholeCharacters) {
    EXPECT_EQ(shorten("abcdef", 6), "abcdef");
    EXPECT_EQ(shorten("abcdefg", 6), "abcde…");
    EXPECT_EQ(shorten("ééééé", 3), "éé…");
    EXPECT_EQ(shorten("\xff\xff\xff\xff\xff", 3).size(), 2 + 3U);
}

TEST(SpecText, SecretsAreRedacted) {
    const std::pair<const char*, const char*> kCases[] = {
        {"password=hunter2 rest", "password=[redacted] rest"},
        {"PASSWORD: hunter2", "PASSWORD: [redacted]"},
        {"\"api_key\": \"abc\"", "\"api_key\": \"[redacted]\""},
        {"Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"},
        {"curl -H 'bearer abcdefgh12345678'", "curl -H 'bearer [redacted]'"},
        {"postgresql://steady:s3cret@db:5432/x", "postgresql://[redacted]@db:5432/x"},
        {"ghp_0123456789abcdefghij", "[redacted]"},
        {"key sk-0123456789abcdef", "key [redacted]"},
        {"token=0123456789abcdef", "token=[redacted]"},
        {"DB_PASSWORD=x;y", "DB_PASSWORD=[redacted];y"},
        {"secret='a b c' d", "secret='[redacted]' d"},
    };
    for (const auto& [text, expected] : kCases) {
        EXPECT_EQ(redact(text), expected);
        EXPECT_EQ(redact(redact(text)), redact(text));
    }
}

TEST(SpecText, OrdinaryTextIsLeftAlone) {
    for (const char* text :
         {"time per token: 37 ms", "token_ns_p90", "tokens: 64", "https://host/path?x=1",
          "q4_0_matvec=avx2", "the tokenizer is 3 % faster", "task-based sk- ghp_", "a@b.c",
          "secretly faster", "5f2c9d1", "user@host:path"}) {
        EXPECT_EQ(redact(text), text);
    }
}

TEST(SpecText, MarkdownCannotBeEscapedFrom) {
    EXPECT_EQ(escape_markdown("decode_tps of q4_0_matvec"), "decode_tps of q4_0_matvec");
    EXPECT_EQ(escape_markdown("_x_ *y*"), "\\_x\\_ \\*y\\*");
    EXPECT_EQ(escape_markdown("[a](b)"), "\\[a\\](b)");
    EXPECT_EQ(escape_markdown("<b>&amp;"), "&lt;b&gt;&amp;amp;");
    EXPECT_EQ(escape_markdown("a|b"), "a\\|b");
    EXPECT_EQ(escape_markdown("# x"), "\\# x");
    EXPECT_EQ(escape_markdown("- x"), "\\- x");
    EXPECT_EQ(escape_markdown("1. x"), "1\\. x");
    EXPECT_EQ(escape_markdown("2) x"), "2\\) x");
    EXPECT_EQ(escape_markdown("http://x"), "http&#58;//x");
    EXPECT_EQ(escape_markdown("a\\"), "a\\\\");
    EXPECT_EQ(escape_markdown("two\nlines"), "two\\\\nlines");
    EXPECT_EQ(markdown_code("a`b"), "``a`b``");
    EXPECT_EQ(markdown_code("`"), "`` ` ``");
    EXPECT_EQ(markdown_code(""), "`  `");
}

TEST(SpecText, DidYouMean) {
    EXPECT_EQ(edit_distance("model", "modle"), 1U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("ABC", "abc"), 0U);
    EXPECT_EQ(closest("decide", {"advice", "guard", "decides"}), "decides");
    EXPECT_EQ(closest("gaurd", {"advice", "guard", "decides"}), "guard");
    EXPECT_EQ(closest("retry", {"retry_if", "role"}), "retry_if");
    EXPECT_EQ(closest("zzz", {"advice", "guard"}), "");
    EXPECT_EQ(closest("x", {"op"}), "");
    EXPECT_EQ(closest("", {"op"}), "");
    EXPECT_EQ(closest(std::string(1000, 'a'), {"a"}), "");
}

}  // namespace
}  // namespace steady
