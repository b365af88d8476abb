// Strict two-way JSON for plain structs: a type lists its fields once, in a function
// fields(visit, value), and is written and read by the same list. Reading refuses missing, unknown
// and wrongly typed keys with an Error that names the place; nothing is converted silently. Numbers
// that JSON cannot write are kept as "nan", "inf" and "-inf".
#pragma once

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

// What does not depend on a type is compiled once, in json_fields.cpp: inlined at each field, it
// made the records' file the longest to compile.
[[noreturn]] void refuse(const std::string& where, const std::string& allowed, const Json& found);

template <class T>
Json encode(const T& value);

struct Writer {
    Json out = Json::object();
    template <class T>
    void operator()(const char* key, const T& value) {
        put(key, encode(value));
    }
    // A key that documents of before do not have: absent instead of null.
    template <class T>
    void maybe(const char* key, const std::optional<T>& value) {
        if (value) put(key, encode(*value));
    }
    void put(const char* key, Json value);
};

// Where a value stands, for messages.
struct Place {
    std::string where;

    Place below(const std::string& step) const;
};

template <class T>
void decode(const Json& in, const Place& place, T& value);

struct Reader {
    const Json& in;
    const Place& place;
    std::set<std::string> known;

    template <class T>
    void operator()(const char* key, T& value) {
        decode(take(key), place.below(key), value);
    }
    template <class T>
    void maybe(const char* key, std::optional<T>& value) {
        value.reset();
        if (has(key)) (*this)(key, value.emplace());
    }
    bool has(const char* key) const;
    const Json& take(const char* key);  // Error unless it is there
    void finish() const;                // Error for keys that nobody took
};

Json encode_double(double value);

template <class T>
Json encode(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        return encode_double(value);
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

void decode_double(const Json& in, const Place& place, double& value);
void decode_text(const Json& in, const Place& place, std::string& value);
void decode_bool(const Json& in, const Place& place, bool& value);
// Refuses what is no list, or no object.
void expect_list(const Json& in, const Place& place);
void expect_object(const Json& in, const Place& place);
// Which of the words it is.
std::size_t decode_word(const Json& in, const Place& place, const char* const* words,
                        std::size_t n_words);

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
void decode(const Json& in, const Place& place, T& value) {
    if constexpr (std::is_same_v<T, double>) {
        decode_double(in, place, value);
    } else if constexpr (std::is_enum_v<T>) {
        const auto& choices = words(T{});
        value = static_cast<T>(decode_word(in, place, choices, std::size(choices)));
    } else if constexpr (std::is_same_v<T, bool>) {
        decode_bool(in, place, value);
    } else if constexpr (std::is_integral_v<T>) {
        decode_integer(in, place, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        decode_text(in, place, value);
    } else if constexpr (holder_kind<T>() == 1) {
        value.reset();
        if (!in.is_null()) {
            decode(in, place, value.emplace());
        }
    } else if constexpr (holder_kind<T>() == 2) {
        expect_list(in, place);
        value.clear();
        for (const Json& item : in) {
            const Place below = place.below(std::to_string(value.size()));
            decode(item, below, value.emplace_back());
        }
    } else if constexpr (holder_kind<T>() == 3) {
        expect_object(in, place);
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
