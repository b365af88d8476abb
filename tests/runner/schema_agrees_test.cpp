// The published schema is printed from the decoder's table; this holds the file on disk equal to
// it. STEADY_WRITE_SCHEMA=1 writes the file instead.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runner/spec/spec_rules.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

const std::string kSchema =
    std::string(STEADY_SOURCE_DIR) + "/experiments/schema/experiment.v1.schema.json";

TEST(SchemaAgrees, FileIsWhatTheDecoderPrints) {
    if (std::getenv("STEADY_WRITE_SCHEMA") != nullptr) {
        std::ofstream(kSchema) << schema_text();
    }
    EXPECT_EQ(read_file(kSchema), schema_text())
        << "run this test with STEADY_WRITE_SCHEMA=1 and look at the difference";
}

// Every property is described, closed against unknown keys and has a type or a list of words.
void expect_complete(const nlohmann::json& schema, const std::string& where) {
    if (schema.contains("properties")) {
        EXPECT_EQ(schema.at("additionalProperties"), false) << where;
        for (const auto& [name, inner] : schema.at("properties").items()) {
            EXPECT_GE(inner.at("description").get<std::string>().size(), 8U) << where << name;
            expect_complete(inner, where + name + "/");
        }
        for (const auto& name : schema.value("required", nlohmann::json::array())) {
            EXPECT_TRUE(schema.at("properties").contains(name)) << where << name;
        }
        return;
    }
    EXPECT_TRUE(schema.contains("type") || schema.contains("enum") || schema.contains("anyOf"))
        << where;
    if (schema.contains("items")) {
        expect_complete(schema.at("items"), where + "[]/");
    }
    if (schema.contains("additionalProperties")) {
        expect_complete(schema.at("additionalProperties"), where + "*/");
    }
}

TEST(SchemaAgrees, EveryPropertyIsDescribedAndTyped) {
    expect_complete(nlohmann::json::parse(read_file(kSchema)), "/");
}

}  // namespace
}  // namespace steady
