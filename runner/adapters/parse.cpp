// Checks that all adapters make.
#include "runner/adapters/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/base/error.h"
#include "runner/base/text.h"

namespace steady::adapters_detail {
namespace {

std::string shown(std::string_view text, std::size_t n = 60) {
    return escape_line(shorten(text.substr(0, 4 * n), n));
}

std::string shown_json(const Json& value) {
    return shown(value.dump(-1, ' ', true, Json::error_handler_t::replace), 40);
}

// A unit that another one of its kind could be taken for.
bool is_scale(const std::string& unit) {
    for (const char* one : {"s", "ms", "us", "ns", "bytes"})
        if (unit == one) return true;
    return false;
}

// NaN, Infinity and -Infinity outside strings become null.
std::string without_nan(std::string_view text) {
    std::string out;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string && c == '\\' && i + 1 < text.size()) {
            out += text.substr(i++, 2);
            continue;
        }
        if (c == '"') in_string = !in_string;
        std::string_view word;
        for (const std::string_view one : {"NaN", "-Infinity", "Infinity"}) {
            if (!in_string && word.empty() && text.substr(i, one.size()) == one) word = one;
        }
        out += word.empty() ? std::string(1, c) : "null";
        if (!word.empty()) i += word.size() - 1;
    }
    return out;
}

}  // namespace

void Rows::refuse(const std::string& where, const std::string& problem) const {
    throw Error{fmt::format("{} output{}{}: {}", adapter_, where.empty() ? "" : " at ",
                            escape_line(where), problem)};
}

void Rows::refuse_line(std::string_view line, const std::string& problem) const {
    refuse("", fmt::format("\"{}\": {}", shown(line, 120), problem));
}

Json Rows::parse(std::string_view text) const {
    if (trimmed(text).empty()) {
        refuse("", "it is empty; was the program told to print its machine format?");
    }
    try {
        return Json::parse(text.begin(), text.end());
    } catch (const Json::parse_error& error) {
        const std::size_t at = std::min(text.size(), error.byte < 20 ? 0 : error.byte - 20);
        refuse("", fmt::format("it is not JSON near byte {}: \"{}\"; give the program's machine "
                               "format",
                               error.byte, shown(text.substr(at))));
    } catch (const Json::exception&) {  // a number that no double holds, such as 1e999
        refuse("", "it holds a number beyond what can be read; give the program's machine format");
    }
}

Json Rows::parse_python(std::string_view text) const { return parse(without_nan(text)); }

const Json& Rows::at(const Json& object, const char* key, const std::string& where) const {
    if (!object.is_object() || !object.contains(key)) {
        refuse(where, fmt::format("no \"{}\" in {}", key, shown_json(object)));
    }
    return object.at(key);
}

const Json& Rows::list(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_array()) {
        refuse(where + "/" + key, "not a list: " + shown_json(value));
    }
    return value;
}

int Rows::count(const Json& object, const char* key, const std::string& where) const {
    if (!object.is_object() || !object.contains(key)) {
        return 0;
    }
    constexpr double kMost = 1e6;
    const double value = number(object, key, where);
    if (!(value >= 0 && value <= kMost) || value != std::floor(value)) {
        refuse(where + "/" + key, fmt::format("found {}, allowed: a whole number from 0 to 1000000",
                                              shown_json(object.at(key))));
    }
    return static_cast<int>(value);
}

double Rows::number(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_number()) {
        refuse(where + "/" + key, "found " + shown_json(value) + ", allowed: a number");
    }
    return value.get<double>();
}

std::string Rows::text(const Json& object, const char* key, const std::string& where) const {
    const Json& value = at(object, key, where);
    if (!value.is_string()) {
        refuse(where + "/" + key, "found " + shown_json(value) + ", allowed: text");
    }
    return value.get<std::string>();
}

bool Rows::is_absent(const Json& object, const char* key) const {
    return !object.is_object() || !object.contains(key) || object.at(key).is_null();
}

std::vector<double> Rows::numbers(const Json& object, const char* key,
                                  const std::string& where) const {
    std::vector<double> out;
    if (!object.is_object() || !object.contains(key)) {
        return out;
    }
    for (const Json& value : list(object, key, where)) {
        if (!value.is_number()) {
            refuse(where + "/" + key, "a value that is no number: " + shown_json(value));
        }
        out.push_back(value.get<double>());
    }
    return out;
}

double Rows::number_in(std::string_view text, std::string_view line) const {
    const std::string_view word = trimmed(text);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
        refuse_line(line, fmt::format("\"{}\" is no number", shown(word)));
    }
    return value;
}

void Rows::check_unit(const AdapterRow& row, const std::string& where) const {
    const std::string named = find_metric(row.metric).unit;
    if (row.unit.empty() || row.unit == named || !is_scale(named)) return;
    refuse(where,
           fmt::format("{0} is in {1} by its name, found the unit \"{2}\": give the value in "
                       "{1}, or the metric a name that says no unit",
                       row.metric, named, shown(row.unit)));
}

void Rows::add(AdapterRow row, const std::string& where) {
    if (!std::isfinite(row.value) || row.value < 0) {
        refuse(where,
               fmt::format("{} is {}, allowed: finite and not negative", row.metric, row.value));
    }
    const Metric metric = find_metric(row.metric);
    if (row.unit.empty()) row.unit = metric.unit;
    if (!row.direction) row.direction = metric.direction;
    if (!row.direction) row.direction = direction_of_unit(row.unit);
    rows_.push_back(std::move(row));
}

void Rows::add_all(const AdapterRow& row, const std::vector<double>& values,
                   const std::string& where) {
    for (std::size_t rep = 0; rep < values.size(); ++rep) {
        AdapterRow one = row;
        one.value = values[rep];
        one.rep = static_cast<int>(rep);
        add(std::move(one), where);
    }
}

std::vector<AdapterRow> Rows::finish() && {
    if (rows_.empty()) {
        refuse("", "nothing was measured");
    }
    return std::move(rows_);
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> with_options(std::vector<std::string> argv, std::size_t place,
                                      const std::vector<std::string>& options,
                                      const std::string& taken) {
    for (const std::string& argument : argv) {
        if (argument == taken || argument.rfind(taken + "=", 0) == 0) {
            throw Error(
                fmt::format("the command has {}, which this adapter must set itself: "
                            "leave it out",
                            escape_line(argument)));
        }
    }
    place = std::min(place, argv.size());
    argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(place), options.begin(), options.end());
    return argv;
}

}  // namespace steady::adapters_detail
