// A shape is a handful of numbers; this is how it is written ("rows=768,cols=2048") and read back.
// The same text names tests and benchmarks, and passes between engine, runner and tool. Fields that
// have their default value are left out.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/formats/formats.h"

namespace steady {

// One field of a shape: a name and a member, either a number or a weight type.
template <class Shape>
struct ShapeField {
    const char* name;
    std::int64_t Shape::*number = nullptr;
    Type Shape::*type = nullptr;
};

// Either a shape or what was wrong with its text.
template <class Shape>
struct ParsedShape {
    Shape shape;
    std::string error;  // empty: the shape is good
};

template <class Shape>
std::string to_text(const Shape& shape) {
    const Shape defaults{};
    std::string text;
    for (const ShapeField<Shape>& field : Shape::fields()) {
        std::string value;
        if (field.number != nullptr) {
            if (shape.*field.number == defaults.*field.number) continue;
            value = std::to_string(shape.*field.number);
        } else {
            if (shape.*field.type == defaults.*field.type) continue;
            value = type_name(shape.*field.type);
        }
        if (!text.empty()) text += ',';
        text += std::string(field.name) + '=' + value;
    }
    return text;
}

// The names of a shape's fields, for error messages: "groups, rows, cols".
template <class Shape>
std::string field_names() {
    std::string names;
    for (const ShapeField<Shape>& field : Shape::fields()) {
        if (!names.empty()) names += ", ";
        names += field.name;
    }
    return names;
}

// Sets one field from text; false when the field or its value is unknown.
template <class Shape>
bool set_field(Shape& shape, std::string_view name, std::string_view value) {
    for (const ShapeField<Shape>& field : Shape::fields()) {
        if (name != field.name) continue;
        if (field.number != nullptr) {
            std::int64_t number = 0;
            const auto [end, problem] =
                std::from_chars(value.data(), value.data() + value.size(), number);
            shape.*field.number = number;
            return problem == std::errc() && end == value.data() + value.size() && number > 0;
        }
        const auto type = type_from_name(value);
        if (type) shape.*field.type = *type;
        return type.has_value();
    }
    return false;
}

template <class Shape>
ParsedShape<Shape> parse_shape(std::string_view text) {
    ParsedShape<Shape> parsed;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(part.size() < rest.size() ? part.size() + 1 : part.size());
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos ||
            !set_field(parsed.shape, part.substr(0, equals), part.substr(equals + 1))) {
            parsed.error = "shape '" + std::string(text) + "': cannot use '" + std::string(part) +
                           "'; write name=value with the names " + field_names<Shape>();
            return parsed;
        }
    }
    parsed.error = parsed.shape.problem();
    if (!parsed.error.empty()) {
        parsed.error = "shape '" + std::string(text) + "': " + parsed.error;
    }
    return parsed;
}

}  // namespace steady
