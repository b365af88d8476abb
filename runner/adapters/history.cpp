// Which reader a name stands for, and what they share: hashes in paths, times as text.
#include "runner/adapters/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "kernels/base/error.h"
#include "runner/adapters/history_detail.h"

namespace steady {
namespace {

constexpr std::size_t kHashDigits = 40, kFewestDigits = 7;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Days from 1970-01-01 in the Gregorian calendar.
std::int64_t days_since_1970(std::int64_t year, int month, int day) {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t of_era = year - era * 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// The number at text[at, at + n); nothing when a digit is missing.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t n) {
    if (at + n > text.size()) return std::nullopt;
    int value = 0;
    for (std::size_t i = at; i < at + n; ++i) {
        if (!is_digit(text[i])) return std::nullopt;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

// Seconds east of Greenwich of "Z", "", "+01:00" or "-0530".
std::optional<int> zone_of(std::string_view text) {
    if (text.empty() || text == "Z") return 0;
    if (text[0] != '+' && text[0] != '-') return std::nullopt;
    const bool colon = text.size() == 6 && text[3] == ':';
    if (!colon && text.size() != 5) return std::nullopt;
    const auto hours = digits(text, 1, 2), minutes = digits(text, colon ? 4 : 3, 2);
    if (!hours || !minutes) return std::nullopt;
    return (text[0] == '-' ? -60 : 60) * (*hours * 60 + *minutes);
}

std::string point_name(const std::map<std::string, std::string>& labels) {
    std::string name, more;
    for (const auto& [key, value] : labels) {
        if (key == "benchmark" || key == "command") {
            name = value;
        } else {
            more += fmt::format("{}{}={}", more.empty() ? "" : ", ", key, value);
        }
    }
    if (name.empty() || more.empty()) return name + more;
    return fmt::format("{} ({})", name, more);
}

double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

std::vector<std::string> history_adapters() {
    std::vector<std::string> names = {"asv", "bencher"};
    for (const Adapter& one : adapters()) {
        const std::string name = one.name;
        const bool a_run =
            one.from != ResultFrom::usage && name != "asv" && name != "regex" && name != "perf";
        if (a_run) names.push_back(name);
    }
    return names;
}

History read_history(const std::string& adapter, const std::vector<AdapterFile>& files,
                     const std::string& metric) {
    const std::vector<std::string> known = history_adapters();
    if (std::find(known.begin(), known.end(), adapter) == known.end()) {
        throw Error(
            fmt::format("--adapter: found \"{}\", allowed {}", adapter, fmt::join(known, ", ")));
    }
    History out = adapter == "asv" ? adapters_detail::read_asv_history(files, metric)
                  : adapter == "bencher"
                      ? adapters_detail::read_bencher_history(files, metric)
                      : adapters_detail::read_run_history(*find_adapter(adapter), files, metric);
    if (out.points.empty()) {
        throw Error(fmt::format("nothing to import{}{}", out.left_out.empty() ? "" : ": ",
                                fmt::join(out.left_out, "; ")));
    }
    return out;
}

std::string commit_in_path(std::string_view path) {
    std::string best;
    for (std::size_t at = 0; at < path.size();) {
        std::size_t end = at;
        bool letter = false, digit = false;
        while (end < path.size() && std::isalnum(static_cast<unsigned char>(path[end])) != 0) {
            letter = letter || (path[end] >= 'a' && path[end] <= 'f');
            digit = digit || is_digit(path[end]);
            ++end;
        }
        const std::string_view word = path.substr(at, end - at);
        const bool hex = word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
        // A word of digits alone is more often a date.
        const bool hash =
            hex && (word.size() == kHashDigits ||
                    (word.size() >= kFewestDigits && word.size() < kHashDigits && letter && digit));
        if (hash && (best.size() < kHashDigits || word.size() == kHashDigits)) best = word;
        at = end + 1;
    }
    return best;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
    const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
    const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2),
               second = digits(text, 17, 2);
    if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
    if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') ||
        text[13] != ':' || text[16] != ':') {
        return std::nullopt;
    }
    const bool real = *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31 && *hour < 24 &&
                      *minute < 60 && *second <= 60;
    if (!real) return std::nullopt;
    std::size_t end = 19;
    if (end < text.size() && text[end] == '.') {
        for (++end; end < text.size() && is_digit(text[end]);) ++end;
    }
    const auto zone = zone_of(text.substr(end));
    if (!zone) return std::nullopt;
    return days_since_1970(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second -
           *zone;
}

std::string utc_text(std::int64_t seconds) {
    std::int64_t day = seconds / 86400, of_day = seconds % 86400;
    if (of_day < 0) {
        of_day += 86400;
        --day;
    }
    day += 719468;
    const std::int64_t era = (day >= 0 ? day : day - 146096) / 146097;
    const std::int64_t of_era = day - era * 146097;
    const std::int64_t of_400 = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const std::int64_t of_year = of_era - (365 * of_400 + of_400 / 4 - of_400 / 100);
    const std::int64_t shifted = (5 * of_year + 2) / 153;
    const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", of_400 + era * 400 + (month <= 2 ? 1 : 0), month,
        of_year - (153 * shifted + 2) / 5 + 1, of_day / 3600, of_day / 60 % 60, of_day % 60);
}

namespace adapters_detail {

void add_points(History& history, const std::vector<AdapterRow>& rows, const std::string& metric,
                const HistoryPoint& run, const std::string& where) {
    struct Group {
        const AdapterRow* row = nullptr;
        std::vector<double> values;
    };
    std::vector<std::pair<std::string, Group>> groups;  // in the order of the rows
    std::map<std::string, std::size_t> places;
    for (const AdapterRow& row : rows) {
        if (!metric.empty() && row.metric != metric) continue;
        const std::string name = point_name(row.labels);
        const auto [place, fresh] = places.emplace(row.metric + '\n' + name, groups.size());
        if (fresh) groups.push_back({name, {&row, {}}});
        groups[place->second].second.values.push_back(row.value);
    }
    for (const auto& [name, group] : groups) {
        HistoryPoint point = run;
        point.benchmark = name;
        point.metric = group.row->metric;
        point.unit = group.row->unit;
        point.value = middle(group.values);
        const std::string what = fmt::format("{}: {} {}", where, name, point.metric);
        if (!group.row->direction) {
            history.left_out.push_back(what + ": nothing says whether lower is better");
        } else if (!(point.value > 0)) {
            history.left_out.push_back(what + ": zero has no ratio to another value");
        } else {
            point.direction = *group.row->direction;
            history.points.push_back(std::move(point));
        }
    }
    if (groups.empty() && !metric.empty()) {
        history.left_out.push_back(fmt::format("{}: no metric \"{}\"", where, metric));
    }
}

}  // namespace adapters_detail
}  // namespace steady
