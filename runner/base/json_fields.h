// Strict two-way JSON for plain structs: a type lists its fields once, in a function
// fields(visit, value), and is written and read by the same list. Reading refuses missing, unknown
// and wrongly typed keys with an Error that names the place; nothing is converted silently. Numbers
// that JSON cannot write are kept as "nan", "inf" and "-inf".
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"

namespace steady::record_fields {

using Json = nlohmann::json;

template <class T>
struct Holder : std::false_type {};
template <class T>
struct Holder<std::optional<T>> : std::true_type {
    static constexpr int kind = 1;
};
template <class T>
struct Holder<std::vector<T>> : std::true_type {
    static constexpr int kind = 2;
};
template <class T>
struct Holder<std::map<std::string, T>> : std::true_type {
    static constexpr int kind = 3;
};
template <class T>
constexpr int holder_kind() {
    if constexpr (Holder<T>::value) {
        return Holder<T>::kind;
    }
    return 0;
}

[[noreturn]] inline void refuse(const std::string& where, const std::string& allowed,
                                const Json& found) {
    std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 60) {
        text = text.substr(0, 57) + "...";
    }
    throw Error{fmt::format("{}: found {}, allowed: {}", where, text, allowed)};
}

template <class T>
Json encode(const T& value);

struct Writer {
    Json out = Json::object();
    template <class T>
    void operator()(const char* key, const T& value) {
        out[key] = encode(value);
    }
    // A key that documents of before do not have: absent instead of null.
    template <class T>
    void maybe(const char* key, const std::optional<T>& value) {
        if (value) out[key] = encode(*value);
    }
};

// Where a value stands, for messages.
struct Place {
    std::string where;

    Place below(const std::string& step) const { return {where + "/" + step}; }
};

template <class T>
void decode(const Json& in, const Place& place, T& value);

struct Reader {
    const Json& in;
    const Place& place;
    std::set<std::string> known;

    template <class T>
    void operator()(const char* key, T& value) {
        if (!in.is_object() || !in.contains(key)) {
            refuse(place.where, fmt::format("the key \"{}\"", key), in);
        }
        known.insert(key);
        decode(in.at(key), place.below(key), value);
    }
    template <class T>
    void maybe(const char* key, std::optional<T>& value) {
        value.reset();
        if (in.is_object() && in.contains(key)) (*this)(key, value.emplace());
    }
    void finish() const {
        for (const auto& [key, value] : in.items()) {
            if (known.count(key) == 0) {
                refuse(place.where + "/" + key, "no such key", value);
            }
        }
    }
};

template <class T>
Json encode(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        if (std::isfinite(value)) {
            return value;
        }
        return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    } else if constexpr (std::is_enum_v<T>) {
        return words(T{})[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (holder_kind<T>() == 1) {
        return value ? encode(*value) : Json(nullptr);
    } else if constexpr (holder_kind<T>() == 2) {
        Json out = Json::array();
        for (const auto& item : value) {
            out.push_back(encode(item));
        }
        return out;
    } else if constexpr (holder_kind<T>() == 3) {
        Json out = Json::object();
        for (const auto& [key, item] : value) {
            out[key] = encode(item);
        }
        return out;
    } else if constexpr (requires { as_json(value); }) {  // a type with a JSON form of its own
        return as_json(value);
    } else {
        Writer writer;
        fields(writer, value);
        return std::move(writer.out);
    }
}

inline void decode_double(const Json& in, const Place& place, double& value) {
    if (in.is_number()) {
        value = in.get<double>();
    } else if (in == "nan") {
        value = std::numeric_limits<double>::quiet_NaN();
    } else if (in == "inf" || in == "-inf") {
        value = in == "inf" ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity();
    } else {
        refuse(place.where, "a number", in);
    }
}

template <class T>
void decode_integer(const Json& in, const Place& place, T& value) {
    using Limits = std::numeric_limits<T>;
    const bool fits = in.is_number_unsigned()
                          ? in.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max())
                          : in.is_number_integer() && std::is_signed_v<T> &&
                                in.get<std::int64_t>() >= static_cast<std::int64_t>(Limits::min());
    if (!fits) {
        refuse(place.where, "a whole number in range", in);
    }
    value = in.get<T>();
}

template <class T>
void decode_word(const Json& in, const Place& place, T& value) {
    const auto& choices = words(T{});
    for (std::size_t i = 0; i < std::size(choices); ++i) {
        if (in == choices[i]) {
            value = static_cast<T>(i);
            return;
        }
    }
    refuse(place.where, fmt::format("one of {}", fmt::join(choices, ", ")), in);
}

template <class T>
void decode(const Json& in, const Place& place, T& value) {
    if constexpr (std::is_same_v<T, double>) {
        decode_double(in, place, value);
    } else if constexpr (std::is_enum_v<T>) {
        decode_word(in, place, value);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!in.is_boolean()) {
            refuse(place.where, "true or false", in);
        }
        value = in.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
        decode_integer(in, place, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (!in.is_string()) {
            refuse(place.where, "text", in);
        }
        value = in.get<std::string>();
    } else if constexpr (holder_kind<T>() == 1) {
        value.reset();
        if (!in.is_null()) {
            decode(in, place, value.emplace());
        }
    } else if constexpr (holder_kind<T>() == 2) {
        if (!in.is_array()) {
            refuse(place.where, "a list", in);
        }
        value.clear();
        for (const Json& item : in) {
            const Place below = place.below(std::to_string(value.size()));
            decode(item, below, value.emplace_back());
        }
    } else if constexpr (holder_kind<T>() == 3) {
        if (!in.is_object()) {
            refuse(place.where, "an object", in);
        }
        value.clear();
        for (const auto& [key, item] : in.items()) {
            decode(item, place.below(key), value[key]);
        }
    } else if constexpr (requires { from_own_json(in, place.where, value); }) {
        from_own_json(in, place.where, value);
    } else {
        Reader reader{in, place, {}};
        fields(reader, value);
        reader.finish();
    }
}

}  // namespace steady::record_fields
