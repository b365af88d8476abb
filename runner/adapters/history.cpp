// Which reader a name stands for, and what they share: hashes in paths, times as text.
#include "runner/adapters/history.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <map>

#include "kernels/base/error.h"
#include "runner/adapters/history_detail.h"

namespace steady {
namespace {

constexpr std::size_t kHashDigits = 40, kFewestDigits = 7;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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
    if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    std::tm date{};
    date.tm_year = *year - 1900;
    date.tm_mon = *month - 1;
    date.tm_mday = *day;
    const std::time_t midnight = ::timegm(&date);  // makes 30 February the first of March or so
    if (date.tm_mon != *month - 1 || date.tm_mday != *day) return std::nullopt;
    std::size_t end = 19;
    if (end < text.size() && text[end] == '.') {
        for (++end; end < text.size() && is_digit(text[end]);) ++end;
    }
    const auto zone = zone_of(text.substr(end));
    if (!zone) return std::nullopt;
    return midnight + *hour * 3600 + *minute * 60 + *second - *zone;
}

std::string utc_text(std::int64_t seconds) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
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
