// Text on its way in and out: URLs taken apart, and hostile strings that stay text in HTML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>

#include "dashboard/server/http.h"
#include "dashboard/server/markdown.h"
#include "tests/dashboard/hostile_strings.h"

namespace steady::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Text, EscapeLeavesNoMarkup) {
    for (const char* text : kHostile) {
        const std::string escaped = escape_html(text);
        EXPECT_EQ(escaped.find_first_of("<>\"'"), std::string::npos) << text;
    }
    EXPECT_EQ(escape_html("a & b"), "a &amp; b");
}

// Every tag of the rendered HTML with its attributes must be on this list.
void expect_harmless(const std::string& html, const std::string& source) {
    static const std::set<std::string> tags{
        "p",  "h1",     "h2",    "h3",  "h4",         "h5", "h6", "ul",      "ol",     "li", "em",
        "a",  "strong", "code",  "pre", "blockquote", "hr", "br", "img",     "table",  "tr", "td",
        "th", "thead",  "tbody", "div", "dl",         "dt", "dd", "details", "summary"};
    static const std::set<std::string> attributes{"href",  "src",      "alt",  "title",
                                                  "class", "tabindex", "start"};
    static const std::regex tag(
        R"re(<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[a-z-]+="[^"<>]*")*)\s*/?>)re");
    static const std::regex attribute(R"re(([a-z-]+)="([^"]*)")re");
    std::string rest = html;
    for (auto it = std::sregex_iterator(html.begin(), html.end(), tag);
         it != std::sregex_iterator(); ++it) {
        EXPECT_TRUE(tags.contains((*it)[2].str())) << (*it)[0] << " from " << source;
        const std::string inside = (*it)[3].str();
        for (auto a = std::sregex_iterator(inside.begin(), inside.end(), attribute);
             a != std::sregex_iterator(); ++a) {
            EXPECT_TRUE(attributes.contains((*a)[1].str())) << (*it)[0] << " from " << source;
            std::string value = (*a)[2].str();
            for (char& c : value) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
            EXPECT_FALSE(value.starts_with("javascript:") || value.starts_with("data:") ||
                         value.starts_with("vbscript:"))
                << (*it)[0] << " from " << source;
        }
    }
    // A '<' that opens no tag of the list would be one that the expression above did not
    // understand, save cmark's own comment in place of dropped HTML.
    const std::string stripped = std::regex_replace(
        std::regex_replace(html, std::regex("<!-- raw HTML omitted -->"), ""), tag, "");
    EXPECT_EQ(stripped.find('<'), std::string::npos) << stripped << " from " << source;
}

TEST(Text, MarkdownIsHarmless) {
    for (const char* text : kHostile) {
        expect_harmless(render_markdown(text), text);
        expect_harmless(render_markdown(std::string("Before\n\n") + text + "\n\nafter"), text);
        expect_harmless(
            render_markdown(std::string("| a | b |\n|---|---|\n| x | ") + text + " |\n"), text);
    }
}

TEST(Text, TablesAreTables) {
    const std::string html =
        render_markdown("| gate | effect |\n|:---|---:|\n| `decode` | +3.1 % |\n\nafter");
    EXPECT_THAT(html, HasSubstr("<th>gate</th>"));
    EXPECT_THAT(html, HasSubstr("<td><code>decode</code></td><td class=\"number\">+3.1 %</td>"));
    EXPECT_THAT(html, HasSubstr("<p>after</p>"));
    EXPECT_THAT(render_markdown("a \\| b\n\n```\n| x |\n|---|\n```\n"), Not(HasSubstr("<table>")));
    EXPECT_THAT(render_markdown("| a |\n|---|\n| b \\| c |\n"), HasSubstr("<td>b | c</td>"));
    const std::string head =
        render_markdown("---\nid: x\ncpu: \"a \\\"b\\\" <i>\"\nreason: null\n---\n# T\n");
    EXPECT_THAT(head, HasSubstr("<dt>id</dt><dd>x</dd>"));
    EXPECT_THAT(head, HasSubstr("<dd>a &quot;b&quot; &lt;i&gt;</dd>")) << "without YAML's quotes";
    EXPECT_THAT(head, Not(HasSubstr("reason"))) << "what is null says nothing";
}

// Plain cells are written out without a parser: as the parser would have written them.
TEST(Text, ACellReadsAsTheSameParagraph) {
    const std::string pieces[] = {"a", "7", "12", " ", ".",  ",", "+", "-", "~", "(",      ")",
                                  "[", "]", "_",  "%", "\"", ":", "*", "/", "`", "\u2212", "\xff"};
    std::mt19937_64 random(11);
    for (int n = 0; n < 20'000; ++n) {
        std::string text;
        for (auto left = 1 + random() % 7; left > 0; --left) {
            text += pieces[random() % std::size(pieces)];
        }
        if (text.find_first_not_of(' ') == std::string::npos) continue;
        text = text.substr(text.find_first_not_of(' '));
        text.resize(text.find_last_not_of(' ') + 1);
        std::string wanted = render_markdown(text);
        const bool paragraph = wanted.starts_with("<p>") && wanted.ends_with("</p>\n");
        wanted = paragraph ? wanted.substr(3, wanted.size() - 8) : escape_html(text);
        const std::string table = render_markdown("| x | b |\n|---|---|\n| x | " + text + " |\n");
        EXPECT_THAT(table, HasSubstr("<td>x</td><td>" + wanted + "</td>")) << text;
    }
}

struct TargetCase {
    const char *target, *path, *format;
};

TEST(Text, TargetsAreTakenApart) {
    const TargetCase cases[] = {{"/", "/", "html"},
                                {"/x/a-1.json?since=3", "/x/a-1", "json"},
                                {"/x/a/figure/pairs.svg", "/x/a/figure/pairs", "svg"},
                                {"/j/2026-11-21-a.md", "/j/2026-11-21-a", "md"},
                                {"/assets/icon.svg", "/assets/icon.svg", "html"},
                                {"/x/%61", "/x/a", "html"}};
    for (const TargetCase& one : cases) {
        Request request;
        request.target = one.target;
        ASSERT_TRUE(parse_target(request)) << one.target;
        EXPECT_EQ(request.path, one.path);
        EXPECT_EQ(request.format, one.format);
    }
    for (const char* bad :
         {"", "x", "*", "/%", "/%0", "/%zz", "/%00", "/a%0d%0ab", "/%c3%28", "/?a=%", "/a%5cb"}) {
        Request request;
        request.target = bad;
        EXPECT_FALSE(parse_target(request)) << bad;
    }
}

TEST(Text, QueriesDecode) {
    Request request;
    request.target = "/?q=a+b%26c&empty=&flag&q2=%C3%A9";
    ASSERT_TRUE(parse_target(request));
    EXPECT_EQ(query(request, "q"), "a b&c");
    EXPECT_EQ(query(request, "q2"), "é");
    EXPECT_EQ(query(request, "absent"), "");
    std::string many = "/?";
    for (int i = 0; i < 200; ++i) many += "k" + std::to_string(i) + "=1&";
    request = {};
    request.target = many;
    EXPECT_FALSE(parse_target(request));
}

TEST(Text, Utf8IsChecked) {
    EXPECT_TRUE(valid_utf8("aé€𝄞"));
    for (const char* bad :
         {"\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80", "\xf0\x80\x80\x80"}) {
        EXPECT_FALSE(valid_utf8(bad));
    }
}

}  // namespace
}  // namespace steady::web
