// Parts of pages that commands make: one of a name, others untouched, errors that say which file.
#include "kernels/base/page_section.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernels/base/error.h"

namespace steady {
namespace {

TEST(PageSection, TakesThePlaceOfTheOneOfItsName) {
    std::string page = "# Title\n";
    page = with_section(page, {"one", "tool ladder", "a\n"});
    page = with_section(page, {"two", "tool ladder", "b\n"});
    EXPECT_EQ(page,
              "# Title\n\n<!-- one: made by `tool ladder`, not edited -->\na\n<!-- end of one -->\n"
              "\n<!-- two: made by `tool ladder`, not edited -->\nb\n<!-- end of two -->\n");
    EXPECT_EQ(with_section(page, {"two", "tool ladder", "b\n"}), page);
    const std::string longer = with_section(page, {"one", "tool ladder", "a\nc\n"});
    EXPECT_EQ(with_section(longer, {"one", "tool ladder", "a\n"}), page);
    EXPECT_NE(longer.find("\na\nc\n<!-- end of one -->\n\n<!-- two:"), std::string::npos);
}

std::string refused(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(PageSection, ABeginningWithoutAnEndIsRefused) {
    const std::string broken = "<!-- one: made by `tool`, not edited -->\nby hand\n";
    const std::string why = refused([&] { with_section(broken, {"one", "tool", "a\n"}); });
    EXPECT_NE(why.find("'one'"), std::string::npos) << why;
    EXPECT_NE(why.find("<!-- end of one -->"), std::string::npos) << why;
}

TEST(PageSection, AFolderThatIsNotThereIsNamed) {
    const std::string path = "/nowhere/at/all.md";
    EXPECT_NE(refused([&] { check_page(path); }).find(path), std::string::npos);
    EXPECT_NE(refused([&] {
                  write_section(path, {"one", "tool", "a\n"});
              }).find(path),
              std::string::npos);
    EXPECT_EQ(refused([&] { check_page("all.md"); }), "");
}

}  // namespace
}  // namespace steady
