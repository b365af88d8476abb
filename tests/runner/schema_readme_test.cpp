// The guide's first example is one that the decoder accepts, and the message it shows is one that
// the decoder gives.
#include <gtest/gtest.h>

#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

std::string first_example() {
    const std::string guide = read_file(std::string(STEADY_SOURCE_DIR) + "/experiments/README.md");
    const std::size_t begin = guide.find("```jsonc\n") + 9;
    return guide.substr(begin, guide.find("```", begin) - begin);
}

TEST(SchemaReadme, FirstExampleIsValid) {
    const SpecResult result = parse_spec(first_example(), "matvec-two-rows");
    for (const SpecError& error : result.errors) {
        ADD_FAILURE() << describe(error, "README.md");
    }
}

TEST(SchemaReadme, MessageIsTheDecodersOwn) {
    std::string text = first_example();
    text.replace(text.find("\"decides\""), 9, "\"decide\"");
    const SpecResult result = parse_spec(text, "matvec-two-rows");
    ASSERT_EQ(result.errors.size(), 1U);
    const std::string guide = read_file(std::string(STEADY_SOURCE_DIR) + "/experiments/README.md");
    EXPECT_NE(guide.find(describe(result.errors[0], "matvec-two-rows.json")), std::string::npos)
        << describe(result.errors[0], "matvec-two-rows.json");
}

}  // namespace
}  // namespace steady
