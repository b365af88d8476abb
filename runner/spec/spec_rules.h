// The fields of an experiment file as one table: names, types, ranges, words and descriptions. The
// decoder checks files against it and the published schema is printed from it, so the two always
// agree. Rules between fields are in spec_joint.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/json_reader.h"

namespace steady {

struct SpecField;

struct SpecRule {
    enum class Kind {
        text,
        word,
        integer,
        number,
        percent,
        scalar,
        list,
        object,
        map
    } kind = Kind::text;
    // text: length in characters; list and map: number of entries
    std::size_t min_size = 0, max_size = 500;
    std::string pattern;                   // text, and the keys of a map; ECMAScript, whole string
    std::string meaning;                   // what the pattern asks for, in words
    std::vector<std::string> words;        // word
    std::uint64_t low = 0, high = 0;       // integer
    double least = 0, most = 0;            // number; percent as written (1 = 1 %)
    std::shared_ptr<const SpecRule> item;  // list, map
    std::vector<SpecField> fields;         // object
};

struct SpecField {
    std::string name;
    bool required = false;
    SpecRule rule;
    std::string description;
};

// The whole file.
const SpecRule& spec_rules();

// "10 to 500 characters", "one of advice, guard, decides", "a percentage from 0.1% to 50%" …
std::string allowed_by(const SpecRule& rule);

// Checks a value and everything below it; problems are appended in no particular order.
void check_rule(const SpecRule& rule, const JsonValue& value, const std::string& pointer,
                std::vector<JsonProblem>& problems);

constexpr const char* kExperimentFormat = "experiment v1";

// experiments/schema/experiment.v1.schema.json, draft-07, byte for byte.
std::string schema_text();

// "+2%" → 0.02. The text must match the percent pattern.
double percent_value(const std::string& text);

}  // namespace steady
