// Names, units and directions of metrics. To add one: a line in the table below.
#include "runner/base/metrics.h"

#include <array>
#include <map>
#include <utility>

namespace steady {
namespace {

constexpr Direction kUp = Direction::higher_is_better;
constexpr Direction kDown = Direction::lower_is_better;

Metric entry(const char* name, const char* unit, Direction direction, const char* meaning) {
    return {.name = name, .unit = unit, .direction = direction, .meaning = meaning, .raw = name};
}

Metric rate_of(const char* raw, const char* name, const char* unit, const char* meaning) {
    Metric metric = entry(name, unit, kUp, meaning);
    metric.raw = raw;
    metric.rate_of_raw = true;
    return metric;
}

// What every program has: usage of its process (runner/platform/measured_process.h).
std::vector<Metric> process_metrics() {
    return {
        entry("wall_seconds", "s", kDown, "from the start of the process to its end"),
        entry("user_seconds", "s", kDown, "CPU time in user mode, all threads and children"),
        entry("system_seconds", "s", kDown, "CPU time in the kernel, all threads and children"),
        entry("cpu_seconds", "s", kDown, "CPU time, user mode and kernel together"),
        entry("peak_memory_bytes", "bytes", kDown, "most memory of its largest process"),
        entry("page_faults", "faults", kDown, "page faults that needed no disk"),
        entry("major_faults", "faults", kDown, "page faults that waited for a disk"),
        entry("context_switches", "switches", kDown, "switches to other threads of the machine"),
    };
}

std::vector<Metric> counter_metrics() {
    return {
        entry("instructions", "instructions", kDown, "instructions retired"),
        entry("cycles", "cycles", kDown, "CPU cycles"),
        entry("branches", "branches", kDown, "branches retired"),
        entry("branch_misses", "misses", kDown, "mispredicted branches"),
        entry("cache_references", "references", kDown, "accesses to the last-level cache"),
        entry("cache_misses", "misses", kDown, "misses of the last-level cache"),
        entry("task_clock_seconds", "s", kDown, "CPU time as perf counts it"),
        entry("cpu_clock_seconds", "s", kDown, "CPU time as perf counts it, by CPU"),
        entry("cpu_migrations", "migrations", kDown, "moves to another CPU"),
    };
}

std::vector<Metric> engine_metrics() {
    return {
        entry("op_ns", "ns", kDown, "one call of one kernel"),
        entry("block_ns", "ns", kDown, "one layer"),
        entry("ffn_ns", "ns", kDown, "the feed-forward of one layer"),
        entry("token_ns", "ns", kDown, "one token of the whole model"),
        entry("ttft_ns", "ns", kDown, "from the prompt to the first token"),
        entry("rss_bytes", "bytes", kDown, "peak resident memory"),
        entry("launches_per_token", "launches", kDown, "parallel regions of one token"),
        entry("weight_gb_per_s", "GB/s", kUp, "weights read in a second"),
        entry("gb_per_s", "GB/s", kUp, "bytes read in a second"),
        rate_of("token_ns", "decode_tps", "tok/s", "tokens generated in a second"),
    };
}

std::vector<Metric> tool_metrics() {
    return {
        entry("prefill_tps", "tok/s", kUp, "tokens of a prompt read in a second"),
        entry("prompt_and_decode_tps", "tok/s", kUp, "tokens of prompt and answer in a second"),
        entry("real_time_ns", "ns", kDown, "wall time of one iteration"),
        entry("cpu_time_ns", "ns", kDown, "CPU time of one iteration"),
        entry("time_ns", "ns", kDown, "time of one iteration"),
        entry("time_seconds", "s", kDown, "time of one iteration"),
        entry("bytes_per_s", "bytes/s", kUp, "bytes processed in a second"),
        entry("items_per_s", "items/s", kUp, "items processed in a second"),
        entry("elements_per_s", "elements/s", kUp, "elements processed in a second"),
        entry("mb_per_s", "MB/s", kUp, "megabytes processed in a second"),
        entry("ns_per_op", "ns", kDown, "time of one operation"),
        entry("bytes_per_op", "bytes", kDown, "bytes allocated by one operation"),
        entry("allocs_per_op", "allocations", kDown, "allocations of one operation"),
        entry("memory_bytes", "bytes", kDown, "size of an object"),
    };
}

struct Ending {
    const char* end;
    const char* unit;
    Direction direction;
};

// By length, so that the longer one counts.
constexpr std::array<Ending, 9> kEndings = {{
    {"_seconds", "s", kDown},
    {"_per_op", "", kDown},
    {"_bytes", "bytes", kDown},
    {"_per_s", "1/s", kUp},
    {"_tps", "tok/s", kUp},
    {"_ns", "ns", kDown},
    {"_us", "us", kDown},
    {"_ms", "ms", kDown},
    {"_s", "s", kDown},
}};

constexpr std::array<std::pair<const char*, Aggregation>, 5> kAggregations = {{
    {"_p90", Aggregation::p90},
    {"_p10", Aggregation::p10},
    {"_p50", Aggregation::median},
    {"_median", Aggregation::median},
    {"_mean", Aggregation::mean},
}};

Metric from_ending(const std::string& name) {
    Metric metric{.name = name, .raw = name};
    for (const Ending& ending : kEndings) {
        if (name.ends_with(ending.end)) {
            metric.unit = ending.unit;
            metric.direction = ending.direction;
            return metric;
        }
    }
    if (name.find("_per_s") != std::string::npos) metric.direction = kUp;
    return metric;
}

}  // namespace

const char* name(Direction direction) {
    return direction == Direction::higher_is_better ? "higher" : "lower";
}

std::optional<Direction> direction_of(std::string_view word) {
    if (word == "higher") return Direction::higher_is_better;
    if (word == "lower") return Direction::lower_is_better;
    return std::nullopt;
}

const std::vector<Metric>& known_metrics() {
    static const std::vector<Metric> all = [] {
        std::vector<Metric> out;
        for (auto& part : {process_metrics(), counter_metrics(), engine_metrics(), tool_metrics()})
            out.insert(out.end(), part.begin(), part.end());
        return out;
    }();
    return all;
}

namespace {

const Metric* in_table(const std::string& name) {
    static const std::map<std::string_view, const Metric*> index = [] {
        std::map<std::string_view, const Metric*> out;
        for (const Metric& metric : known_metrics()) out[metric.name] = &metric;
        return out;
    }();
    const auto found = index.find(name);
    return found == index.end() ? nullptr : found->second;
}

}  // namespace

Metric find_metric(const std::string& name) {
    if (const Metric* known = in_table(name)) return *known;
    for (const auto& [end, aggregation] : kAggregations) {
        const std::size_t n = std::string_view(end).size();
        if (name.size() <= n || !name.ends_with(end)) continue;
        Metric metric = find_metric(name.substr(0, name.size() - n));
        metric.raw = name.substr(0, name.size() - n);
        metric.name = name;
        metric.meaning.clear();
        metric.aggregation = aggregation;
        metric.rate_of_raw = false;
        return metric;
    }
    return from_ending(name);
}

std::optional<Direction> direction_of_unit(std::string_view unit) {
    if (unit.ends_with("/s")) return kUp;
    for (const char* down : {"s", "ms", "us", "µs", "ns", "seconds", "bytes", "B", "KiB", "MiB"}) {
        if (unit == down) return kDown;
    }
    return std::nullopt;
}

std::string raw_metric(const std::string& metric) {
    const Metric* known = in_table(metric);
    return known != nullptr ? known->raw : find_metric(metric).raw;
}

bool higher_is_better(const std::string& metric) {
    const Metric* known = in_table(metric);
    return (known != nullptr ? known->direction : find_metric(metric).direction) ==
           Direction::higher_is_better;
}

std::string metric_name(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 64)) {
        const bool upper = c >= 'A' && c <= 'Z';
        const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
        out += upper ? static_cast<char>(c - 'A' + 'a') : kept ? c : '_';
    }
    if (out.empty() || out[0] < 'a' || out[0] > 'z') out.insert(0, "m_");
    return out.substr(0, 64);
}

}  // namespace steady
