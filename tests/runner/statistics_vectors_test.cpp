// One test per vector of tests/data/stat-vectors.json, named by the vector's id, so that a failure
// says at once which number of which method has moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/statistics/check/stats_check.h"

namespace steady {
namespace {

const nlohmann::json& vectors() {
    static const nlohmann::json document = [] {
        std::ifstream file(STEADY_SOURCE_DIR "/tests/data/stat-vectors.json");
        return nlohmann::json::parse(file);
    }();
    return document;
}

class StatVector : public testing::TestWithParam<std::size_t> {};

TEST_P(StatVector, AgreesWithinItsTolerance) {
    const CheckResult result = check_vector(vectors()["vectors"][GetParam()]);
    EXPECT_TRUE(result.pass) << result.message;
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
    auto id = vectors()["vectors"][info.param]["id"].get<std::string>();
    std::string name;
    for (char c : id) {
        if (c == '+') name += "plus";
        if (c == '-') name += "minus";
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(Vectors, StatVector,
                         testing::Range<std::size_t>(0, vectors()["vectors"].size()), test_name);

}  // namespace
}  // namespace steady
