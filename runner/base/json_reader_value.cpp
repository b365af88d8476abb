// The tree that the reader returns: look-ups, JSON Pointers, the canonical form behind an
// experiment's hash, and how a value is shown in a message.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runner/base/json_reader.h"
#include "runner/base/text.h"

namespace steady {
namespace {

std::string shortest_number(const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) {
        std::uint64_t magnitude = 0;
        const bool negative = text[0] == '-';
        const char* begin = text.data() + (negative ? 1 : 0);
        const auto [end, status] = std::from_chars(begin, text.data() + text.size(), magnitude);
        if (status == std::errc{}) {
            return magnitude == 0 ? "0" : (negative ? "-" : "") + std::to_string(magnitude);
        }
    }
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value == 0) {
        return "0";
    }
    std::array<char, 40> buffer{};
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), written.ptr};
}

void append_canonical(std::string& out, const JsonValue& value) {
    switch (value.kind) {
        case JsonValue::Kind::null:
            out += "null";
            break;
        case JsonValue::Kind::boolean:
            out += value.boolean ? "true" : "false";
            break;
        case JsonValue::Kind::number:
            out += shortest_number(value.text);
            break;
        case JsonValue::Kind::string:
            out += json_quoted(value.text);
            break;
        case JsonValue::Kind::array: {
            out += '[';
            const char* separator = "";
            for (const JsonValue& item : value.items) {
                out += separator;
                append_canonical(out, item);
                separator = ",";
            }
            out += ']';
            break;
        }
        case JsonValue::Kind::object: {
            std::vector<const JsonMember*> sorted;
            for (const JsonMember& member : value.members) {
                sorted.push_back(&member);
            }
            std::sort(sorted.begin(), sorted.end(),
                      [](const JsonMember* a, const JsonMember* b) { return a->key < b->key; });
            out += '{';
            const char* separator = "";
            for (const JsonMember* member : sorted) {
                out += separator + json_quoted(member->key) + ":";
                append_canonical(out, member->value);
                separator = ",";
            }
            out += '}';
            break;
        }
    }
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
    for (const JsonMember& member : members) {
        if (member.key == key) {
            return &member.value;
        }
    }
    return nullptr;
}

std::optional<double> JsonValue::number() const {
    if (kind != Kind::number) {
        return std::nullopt;
    }
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::uint64_t> JsonValue::unsigned_integer() const {
    if (kind != Kind::number) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end) {
        return std::nullopt;
    }
    return value;
}

std::string canonical_json(const JsonValue& value) {
    std::string out;
    append_canonical(out, value);
    return out;
}

std::string pointer_join(std::string_view pointer, std::string_view key) {
    std::string out(pointer);
    out += '/';
    for (const char c : key) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

const JsonValue* resolve_pointer(const JsonValue& root, std::string_view pointer) {
    const JsonValue* at = &root;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        const std::string_view step = pointer.substr(0, end);
        pointer.remove_prefix(end);
        const JsonValue* next = nullptr;
        for (const JsonMember& member : at->members) {
            if (pointer_join("", member.key).substr(1) == step) {
                next = &member.value;
            }
        }
        if (at->kind == JsonValue::Kind::array) {
            std::size_t index = 0;
            const auto result = std::from_chars(step.data(), step.data() + step.size(), index);
            if (result.ec == std::errc{} && result.ptr == step.data() + step.size() &&
                index < at->items.size()) {
                next = &at->items[index];
            }
        }
        if (next == nullptr) {
            return nullptr;
        }
        at = next;
    }
    return at;
}

std::string shown_text(std::string_view text) {
    return "\"" + escape_line(shorten(text, 60)) + "\"";
}

std::string shown(const JsonValue& value) {
    switch (value.kind) {
        case JsonValue::Kind::string:
            return shown_text(value.text);
        case JsonValue::Kind::array:
            return value.items.empty() ? "an empty list"
                                       : fmt::format("a list of {}", value.items.size());
        case JsonValue::Kind::object:
            return value.members.empty() ? "an empty object"
                                         : fmt::format("an object of {}", value.members.size());
        case JsonValue::Kind::number:
            return shorten(value.text, 60);
        default:
            return canonical_json(value);
    }
}

}  // namespace steady
