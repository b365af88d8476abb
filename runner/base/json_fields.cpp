// The parts of reading and writing that depend on no type.
#include "runner/base/json_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/base/error.h"

namespace steady::record_fields {

void refuse(const std::string& where, const std::string& allowed, const Json& found) {
    std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 60) {
        text = text.substr(0, 57) + "...";
    }
    throw Error{fmt::format("{}: found {}, allowed: {}", where, text, allowed)};
}

void Writer::put(const char* key, Json value) { out[key] = std::move(value); }

Place Place::below(const std::string& step) const { return {where + "/" + step}; }

bool Reader::has(const char* key) const { return in.is_object() && in.contains(key); }

const Json& Reader::take(const char* key) {
    if (!has(key)) refuse(place.where, fmt::format("the key \"{}\"", key), in);
    known.insert(key);
    return in.at(key);
}

void Reader::finish() const {
    for (const auto& [key, value] : in.items()) {
        if (known.count(key) == 0) {
            refuse(place.where + "/" + key, "no such key", value);
        }
    }
}

Json encode_double(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void decode_double(const Json& in, const Place& place, double& value) {
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

void decode_text(const Json& in, const Place& place, std::string& value) {
    if (!in.is_string()) refuse(place.where, "text", in);
    value = in.get<std::string>();
}

void decode_bool(const Json& in, const Place& place, bool& value) {
    if (!in.is_boolean()) refuse(place.where, "true or false", in);
    value = in.get<bool>();
}

void expect_list(const Json& in, const Place& place) {
    if (!in.is_array()) refuse(place.where, "a list", in);
}

void expect_object(const Json& in, const Place& place) {
    if (!in.is_object()) refuse(place.where, "an object", in);
}

std::size_t decode_word(const Json& in, const Place& place, const char* const* words,
                        std::size_t n_words) {
    std::string allowed;
    for (std::size_t i = 0; i < n_words; ++i) {
        if (in == words[i]) return i;
        allowed += (i == 0 ? "one of " : ", ") + std::string(words[i]);
    }
    refuse(place.where, allowed, in);
}

}  // namespace steady::record_fields
