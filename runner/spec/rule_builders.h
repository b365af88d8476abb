// Rules by kind, from which the tables of experiment files and registrations are written.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/spec/spec_rules.h"

namespace steady::rules {

inline SpecRule text(std::size_t min, std::size_t max) {
    SpecRule rule;
    rule.min_size = min;
    rule.max_size = max;
    return rule;
}

inline SpecRule pattern(std::string expression, std::string meaning, std::size_t max = 200) {
    SpecRule rule;
    rule.min_size = 1;
    rule.max_size = max;
    rule.pattern = std::move(expression);
    rule.meaning = std::move(meaning);
    return rule;
}

inline SpecRule words(std::vector<std::string> choices) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::word;
    rule.words = std::move(choices);
    return rule;
}

inline SpecRule integer(std::uint64_t low, std::uint64_t high) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::integer;
    rule.low = low;
    rule.high = high;
    return rule;
}

inline SpecRule number(double least, double most) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::number;
    rule.least = least;
    rule.most = most;
    return rule;
}

inline SpecRule percentage(double least, double most) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::percent;
    rule.pattern = "^[+-]?[0-9]+(\\.[0-9]+)?%$";
    rule.min_size = 1;
    rule.max_size = 32;
    rule.least = least;
    rule.most = most;
    return rule;
}

inline SpecRule scalar(std::size_t min = 1) {  // a word or a number: the value of a matrix cell
    SpecRule rule;
    rule.kind = SpecRule::Kind::scalar;
    rule.min_size = min;
    rule.max_size = 64;
    return rule;
}

inline SpecRule list(SpecRule item, std::size_t min, std::size_t max) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::list;
    rule.min_size = min;
    rule.max_size = max;
    rule.item = std::make_shared<const SpecRule>(std::move(item));
    return rule;
}

inline SpecRule map(std::string keys, std::string meaning, SpecRule item, std::size_t max) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::map;
    rule.max_size = max;
    rule.pattern = std::move(keys);
    rule.meaning = std::move(meaning);
    rule.item = std::make_shared<const SpecRule>(std::move(item));
    return rule;
}

inline SpecRule object(std::vector<SpecField> fields) {
    SpecRule rule;
    rule.kind = SpecRule::Kind::object;
    rule.fields = std::move(fields);
    return rule;
}

}  // namespace steady::rules
