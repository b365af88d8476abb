// The one table of metrics: what a name means, its unit, which way is better, and how the values of
// one process become one value. A metric that is not in the table gets what the end of its name
// says (`_ns`, `_bytes`, `_per_s`, …); then an experiment must say the direction that this leaves
// open. The names and rules are stored with records, so none of them may change its meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

enum class Direction { higher_is_better, lower_is_better };
const char* name(Direction direction);  // "higher", "lower"
std::optional<Direction> direction_of(std::string_view word);

// How the repetitions of one process become its value.
enum class Aggregation { median, p90, p10, mean };

struct Metric {
    std::string name;
    std::string unit;                    // "ns", "s", "bytes", "tok/s", a counted noun; "" unknown
    std::optional<Direction> direction;  // absent: the name does not tell
    std::string meaning;                 // for tables and help; empty outside the table
    std::string raw;                     // the series that it is computed from, mostly itself
    Aggregation aggregation = Aggregation::median;
    // Its raw series holds times in ns, and it is the number of them in a second (decode_tps).
    bool rate_of_raw = false;
};

const std::vector<Metric>& known_metrics();
// From the table, else from the end of the name. `X_p90`, `X_p10`, `X_p50`, `X_median` and `X_mean`
// aggregate the series X.
Metric find_metric(const std::string& name);

// "ns" and "bytes" are better when lower, "…/s" when higher; absent for anything else.
std::optional<Direction> direction_of_unit(std::string_view unit);

// Short forms of find_metric.
std::string raw_metric(const std::string& metric);
bool higher_is_better(const std::string& metric);  // false where the name does not tell

// Any name as a metric's name: lower case, other characters than letters, digits and dots as _.
std::string metric_name(std::string_view text);

}  // namespace steady
