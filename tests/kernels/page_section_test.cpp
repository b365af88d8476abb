// Parts of pages that commands make: one of a name, others untouched, errors that say which file.
#include "kernels/base/page_section.h"

#include <gtest/gtest.h>

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

TEST(PageSection, ABeginningWithoutAnEndIsLeftAlone) {
    const std::string broken = "<!-- one: made by `tool`, not edited -->\nby hand\n";
    EXPECT_EQ(with_section(broken, {"one", "tool", "a\n"}).find(broken), 0u);
}

TEST(PageSection, AFolderThatIsNotThereIsNamed) {
    try {
        write_section("/nowhere/at/all.md", {"one", "tool", "a\n"});
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/nowhere/at/all.md"), std::string::npos);
    }
}

}  // namespace
}  // namespace steady
