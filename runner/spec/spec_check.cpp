// Walks a file along the table of spec_rules.cpp, and prints the same table as a JSON Schema.
// Everything wrong is reported, not only the first thing; nothing here knows a field by name.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/pattern.h"
#include "runner/base/text.h"
#include "runner/spec/spec_rules.h"

namespace steady {
namespace {

using Kind = SpecRule::Kind;
using OrderedJson = nlohmann::ordered_json;

bool matches(const std::string& value, const std::string& pattern) {
    thread_local std::map<std::string, Pattern> compiled;
    return compiled.try_emplace(pattern, pattern).first->second.matches(value);
}

std::string joined(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

class Checker {
public:
    explicit Checker(std::vector<JsonProblem>& problems) : problems_(problems) {}

    void check(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        switch (rule.kind) {
            case Kind::text:
            case Kind::percent:
                check_text(rule, value, pointer);
                break;
            case Kind::word:
                check_word(rule, value, pointer);
                break;
            case Kind::integer:
                check_integer(rule, value, pointer);
                break;
            case Kind::number:
                check_number(rule, value, pointer);
                break;
            case Kind::scalar:
                check_scalar(rule, value, pointer);
                break;
            case Kind::list:
                check_list(rule, value, pointer);
                break;
            case Kind::map:
                check_map(rule, value, pointer);
                break;
            case Kind::object:
                check_object(rule, value, pointer);
                break;
        }
    }

private:
    void report(const SpecRule& rule, const JsonValue& value, const std::string& pointer,
                const std::string& hint = "") {
        problems_.push_back(
            {pointer, value.line, value.column, shown(value), allowed_by(rule), hint});
    }

    void check_text(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        const bool percent = rule.kind == Kind::percent;
        if (value.kind != JsonValue::Kind::string) {
            const bool quotable = percent && value.kind == JsonValue::Kind::number;
            report(rule, value, pointer,
                   quotable ? "write it as text: \"" + shorten(value.text, 20) + "%\"" : "");
            return;
        }
        const std::size_t length = count_characters(value.text);
        if (length < rule.min_size || length > rule.max_size) {
            problems_.push_back(
                {pointer, value.line, value.column,
                 fmt::format("{} ({} character{})", shown(value), length, length == 1 ? "" : "s"),
                 allowed_by(rule), ""});
        } else if (!rule.pattern.empty() && !matches(value.text, rule.pattern)) {
            report(rule, value, pointer,
                   percent && matches(value.text + "%", rule.pattern) ? "a % sign is missing" : "");
        } else if (percent) {
            const double number = 100 * percent_value(value.text);
            constexpr double kSlack = 1e-9;
            if (number < rule.least - kSlack || number > rule.most + kSlack) {
                report(rule, value, pointer);
            }
        }
    }

    void check_word(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        for (const std::string& word : rule.words) {
            if (value.kind == JsonValue::Kind::string && value.text == word) {
                return;
            }
        }
        const std::string meant =
            value.kind == JsonValue::Kind::string ? closest(value.text, rule.words) : "";
        report(rule, value, pointer, meant.empty() ? "" : "did you mean \"" + meant + "\"?");
    }

    void check_integer(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        const auto number = value.unsigned_integer();
        if (!number || *number < rule.low || *number > rule.high) {
            report(rule, value, pointer,
                   value.kind == JsonValue::Kind::string ? "without quotes" : "");
        }
    }

    void check_number(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        const auto number = value.number();
        if (!number || *number < rule.least || *number > rule.most) {
            report(rule, value, pointer,
                   value.kind == JsonValue::Kind::string ? "a number without quotes" : "");
        }
    }

    void check_scalar(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        const std::size_t length = count_characters(value.text);
        const bool fits = length >= rule.min_size && length <= rule.max_size;
        if (!((value.kind == JsonValue::Kind::string && fits) || value.unsigned_integer())) {
            report(rule, value, pointer);
        }
    }

    void check_list(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        if (value.kind != JsonValue::Kind::array || value.items.size() < rule.min_size ||
            value.items.size() > rule.max_size) {
            report(rule, value, pointer);
            return;
        }
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            check(*rule.item, value.items[i], pointer + "/" + std::to_string(i));
        }
    }

    void check_map(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        if (value.kind != JsonValue::Kind::object || value.members.size() > rule.max_size) {
            report(rule, value, pointer);
            return;
        }
        for (const JsonMember& member : value.members) {
            const std::string inner = pointer_join(pointer, member.key);
            if (member.key.size() > 200 || !matches(member.key, rule.pattern)) {
                problems_.push_back({inner, member.line, member.column,
                                     "the key " + shown_text(member.key), rule.meaning, ""});
            } else {
                check(*rule.item, member.value, inner);
            }
        }
    }

    void check_object(const SpecRule& rule, const JsonValue& value, const std::string& pointer) {
        if (value.kind != JsonValue::Kind::object) {
            report(rule, value, pointer);
            return;
        }
        std::vector<std::string> free;  // names not used yet: what an unknown key may have meant
        for (const SpecField& field : rule.fields) {
            if (value.find(field.name) == nullptr) {
                free.push_back(field.name);
            }
        }
        std::set<std::string> meant_fields;
        for (const JsonMember& member : value.members) {
            const std::string inner = pointer_join(pointer, member.key);
            const SpecField* known = nullptr;
            for (const SpecField& field : rule.fields) {
                known = field.name == member.key ? &field : known;
            }
            if (known != nullptr) {
                check(known->rule, member.value, inner);
                continue;
            }
            const std::string meant = closest(member.key, free);
            meant_fields.insert(meant);
            problems_.push_back({inner, member.line, member.column,
                                 "the unknown key " + shown_text(member.key), allowed_by(rule),
                                 meant.empty() ? "" : "did you mean \"" + meant + "\"?"});
        }
        for (const SpecField& field : rule.fields) {
            const bool missing = field.required && value.find(field.name) == nullptr;
            if (missing && meant_fields.count(field.name) == 0) {
                problems_.push_back(
                    {pointer, value.line, value.column, "no key \"" + field.name + "\"",
                     fmt::format("\"{}\" is required: {}", field.name, allowed_by(field.rule)),
                     field.description});
            }
        }
    }

    std::vector<JsonProblem>& problems_;
};

OrderedJson schema_of(const SpecRule& rule) {
    OrderedJson out = OrderedJson::object();
    switch (rule.kind) {
        case Kind::text:
        case Kind::percent:
            out["type"] = "string";
            out["minLength"] = rule.min_size;
            out["maxLength"] = rule.max_size;
            if (!rule.pattern.empty()) {
                out["pattern"] = rule.pattern;
            }
            break;
        case Kind::word:
            out["enum"] = rule.words;
            break;
        case Kind::integer:
            out["type"] = "integer";
            out["minimum"] = rule.low;
            out["maximum"] = rule.high;
            break;
        case Kind::number:
            out["type"] = "number";
            out["minimum"] = rule.least;
            out["maximum"] = rule.most;
            break;
        case Kind::scalar:
            out["anyOf"] = OrderedJson::array(
                {{{"type", "string"}, {"minLength", rule.min_size}, {"maxLength", rule.max_size}},
                 {{"type", "integer"}, {"minimum", 0}}});
            break;
        case Kind::list:
            out["type"] = "array";
            out["minItems"] = rule.min_size;
            out["maxItems"] = rule.max_size;
            out["items"] = schema_of(*rule.item);
            break;
        case Kind::map:
            out["type"] = "object";
            out["maxProperties"] = rule.max_size;
            out["propertyNames"] = {{"pattern", rule.pattern}};
            out["additionalProperties"] = schema_of(*rule.item);
            break;
        case Kind::object: {
            out["type"] = "object";
            out["additionalProperties"] = false;
            OrderedJson required = OrderedJson::array();
            OrderedJson properties = OrderedJson::object();
            for (const SpecField& field : rule.fields) {
                OrderedJson inner = {{"description", field.description}};
                inner.update(schema_of(field.rule));
                properties[field.name] = inner;
                if (field.required) {
                    required.push_back(field.name);
                }
            }
            if (!required.empty()) {
                out["required"] = required;
            }
            out["properties"] = properties;
            break;
        }
    }
    return out;
}

std::string shortest(double value) { return fmt::format("{}", value); }

}  // namespace

std::string allowed_by(const SpecRule& rule) {
    switch (rule.kind) {
        case Kind::text:
            return rule.meaning.empty()
                       ? fmt::format("text of {} to {} characters", rule.min_size, rule.max_size)
                       : "text: " + rule.meaning;
        case Kind::percent:
            return fmt::format("a percentage as text from \"{}%\" to \"{}%\"", shortest(rule.least),
                               shortest(rule.most));
        case Kind::word:
            return joined(rule.words);
        case Kind::integer:
            return fmt::format("a whole number from {} to {}", rule.low, rule.high);
        case Kind::number:
            return fmt::format("a number from {} to {}", shortest(rule.least), shortest(rule.most));
        case Kind::scalar:
            return fmt::format("text of {} to {} characters, or a whole number", rule.min_size,
                               rule.max_size);
        case Kind::list:
            return rule.min_size == rule.max_size
                       ? fmt::format("a list of exactly {}", rule.min_size)
                       : fmt::format("a list of {} to {}", rule.min_size, rule.max_size);
        case Kind::map:
            return fmt::format("an object with at most {} keys, each {}", rule.max_size,
                               rule.meaning);
        case Kind::object: {
            std::vector<std::string> names;
            for (const SpecField& field : rule.fields) {
                names.push_back(field.name);
            }
            return "an object with the keys " + joined(names);
        }
    }
    return "";
}

void check_rule(const SpecRule& rule, const JsonValue& value, const std::string& pointer,
                std::vector<JsonProblem>& problems) {
    Checker(problems).check(rule, value, pointer);
}

std::string schema_text() {
    OrderedJson out = {
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "Steady experiment, version 1"},
        {"description",
         "One question: a hypothesis, two arms, gates and a schedule. Comments (// and /* "
         "*/) are allowed. Printed from the decoder's own table; `steady validate` checks "
         "besides what joins several fields."}};
    out.update(schema_of(spec_rules()));
    return out.dump(2) + "\n";
}

double percent_value(const std::string& text) {
    const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
    double value = 0;
    std::from_chars(begin, text.data() + text.size(), value);
    return value / 100;
}

}  // namespace steady
