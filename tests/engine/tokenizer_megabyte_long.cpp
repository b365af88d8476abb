// The long-text test at its full length.
#include "tests/support/long_texts.h"

namespace steady::test {
namespace {

TEST(TokenizerLong, TakesAMegabyte) {
    for (const char* pre : {"glm4", "deepseek-llm", "youtu"})
        expect_long_texts_survive(pre, 1 << 20);
}

}  // namespace
}  // namespace steady::test
