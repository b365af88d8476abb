// Histories that other benchmark programs keep: one value per benchmark and commit. They become
// points of a series, never verdicts: nobody knows what else ran beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/adapters/adapter.h"

namespace steady {

struct HistoryPoint {
    std::string benchmark;  // its name, with parameters where it has any
    std::string metric, unit;
    Direction direction = Direction::lower_is_better;
    double value = 0;  // above zero; the median where a run has several
    std::optional<double> low, high;
    std::string commit;        // 7 to 40 hex digits; empty: the history does not say
    std::string date;          // ISO 8601, UTC; empty: the history does not say
    std::string host, branch;  // empty: the history does not say
    std::string machine;       // what must be equal on the machine for values to be comparable
    std::string method;        // how it was built and run
};

struct History {
    std::string project;  // as the history names it; may be empty
    std::vector<HistoryPoint> points;
    std::vector<std::string> left_out;  // "where: why", of what became no point
};

// The programs whose history can be read: asv, bencher, and each adapter that reads the output of
// one run, where a file (or a folder named by a commit) is one run.
std::vector<std::string> history_adapters();

// files: as found below the named folders. metric: only this one; empty: the adapter's own choice.
// Throws Error when nothing in them is such a history, naming the file and the text.
History read_history(const std::string& adapter, const std::vector<AdapterFile>& files,
                     const std::string& metric);

// The hash in a path such as results/1f3a9c2.json or 0001_ea3d…0590_20230226.json; empty: none.
std::string commit_in_path(std::string_view path);
// Seconds since 1970 of "2026-11-24T03:00:00.5+01:00"; a time without zone is UTC.
std::optional<std::int64_t> seconds_of(std::string_view iso8601);
// The same as text in UTC, to the second.
std::string utc_text(std::int64_t seconds);

}  // namespace steady
