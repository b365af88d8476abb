// Reads JSON with // and /* */ comments into a tree that remembers where every key and value
// stands. A general JSON library forgets positions, keeps the last of two equal keys silently and
// stops at the first surprise; an experiment file's author needs the line of every mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

struct JsonMember;

struct JsonValue {
    enum class Kind { null, boolean, number, string, array, object } kind = Kind::null;
    bool boolean = false;
    std::string text;  // string: its value, UTF-8; number: as written
    std::vector<JsonValue> items;
    std::vector<JsonMember> members;  // in file order; of equal keys only the first
    int line = 1, column = 1;         // 1-based, column in characters

    const JsonValue* find(std::string_view key) const;  // nullptr when absent or not an object
    std::optional<double> number() const;               // nullopt when no number or out of range
    std::optional<std::uint64_t> unsigned_integer()
        const;  // nullopt for fractions, signs, overflow
};

struct JsonMember {
    std::string key;
    int line = 1, column = 1;  // of the key
    JsonValue value;
};

struct JsonProblem {
    std::string pointer;  // duplicate key: that key; syntax: "", the whole document
    int line = 1, column = 1;
    std::string found, allowed, hint;
};

struct JsonDocument {
    std::optional<JsonValue> root;  // absent after a syntax error
    std::vector<JsonProblem> problems;
};

struct JsonLimits {
    std::size_t bytes = 256 * 1024;
    int depth = 32;
};

// Never throws on bad input. Stops at the first syntax error; duplicate keys are collected.
JsonDocument read_json(std::string_view text, const JsonLimits& limits = {});

// Sorted keys, no spaces or comments, numbers in their shortest form (1.0, 1e0 and 1 are equal).
std::string canonical_json(const JsonValue& value);

// "/gates/2/role": one step of a JSON Pointer appended, with ~ and / escaped.
std::string pointer_join(std::string_view pointer, std::string_view key);

// The value at a pointer, or nullptr.
const JsonValue* resolve_pointer(const JsonValue& root, std::string_view pointer);

// For messages: a value as found in the file, shortened to about 60 characters, control characters
// escaped.
std::string shown(const JsonValue& value);
std::string shown_text(std::string_view text);  // quoted, shortened, escaped

}  // namespace steady
