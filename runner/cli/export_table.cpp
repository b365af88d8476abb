// Samples, verdicts and series as tables in the forms that other programs read.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/exchange.h"
#include "runner/cli/records.h"
#include "runner/platform/files.h"
#include "runner/record/record_tables.h"
#include "runner/storage/track_store.h"

namespace steady {
namespace {

constexpr int kExportedPoints = 1000000;  // of one series

struct SeriesColumns {
    TextCells series, repository, branch, metric, host, reference, commit, committed_at,
        measured_at, failed, experiment;
    NumberCells ratio, low, high, level, value, reference_value;
    IntegerCells pairs;

    void add(const track::Series& one, const track::StoredPoint& stored) {
        const TrackPoint& point = stored.point;
        const bool good = stored.failed.empty();
        series.emplace_back(one.name);
        repository.emplace_back(one.repository);
        branch.emplace_back(one.branch);
        metric.emplace_back(one.metric);
        host.emplace_back(one.host);
        reference.emplace_back(one.reference);
        commit.emplace_back(point.commit);
        committed_at.emplace_back(point.date);
        measured_at.emplace_back(stored.measured_at);
        ratio.push_back(good ? std::optional(point.ratio) : std::nullopt);
        low.push_back(point.interval.low);
        high.push_back(point.interval.high);
        level.push_back(stored.level);
        pairs.emplace_back(point.pairs);
        value.emplace_back(point.champion_ns);
        reference_value.emplace_back(point.reference_ns);
        failed.emplace_back(stored.failed);
        experiment.emplace_back(point.experiment);
    }

    Table table() && {
        return {{{"series", std::move(series)},
                 {"repository", std::move(repository)},
                 {"branch", std::move(branch)},
                 {"metric", std::move(metric)},
                 {"host", std::move(host)},
                 {"reference", std::move(reference)},
                 {"commit", std::move(commit)},
                 {"committed_at", std::move(committed_at)},
                 {"measured_at", std::move(measured_at)},
                 {"ratio", std::move(ratio)},
                 {"low", std::move(low)},
                 {"high", std::move(high)},
                 {"level", std::move(level)},
                 {"pairs", std::move(pairs)},
                 {"value", std::move(value)},
                 {"reference_value", std::move(reference_value)},
                 {"failed", std::move(failed)},
                 {"experiment", std::move(experiment)}}};
    }
};

Table series_table(Store& store, const std::vector<std::string>& names) {
    SeriesColumns all;
    store.connection().transact([&](Transaction& transaction) {
        all = {};
        for (const std::string& name : names) {
            const auto series = track::find_series(transaction, name);
            if (!series) {
                throw Error(fmt::format("no series \"{}\"; steady track --list shows them", name));
            }
            for (const auto& one : track::points(transaction, series->id, kExportedPoints)) {
                all.add(*series, one);
            }
        }
    });
    return std::move(all).table();
}

Table wanted_table(const Arguments& arguments, const std::string& what) {
    Store store = open_store(arguments);
    if (what == "series") return series_table(store, arguments.words);
    std::vector<Record> records;
    for (const std::string& id : arguments.words) records.push_back(store.load_record(id));
    return what == "samples" ? samples_table(records) : verdicts_table(records);
}

}  // namespace

int export_table(const Arguments& arguments) {
    const std::string format = arguments.get("format"), what = arguments.get("table", "samples");
    if (format != "csv" && format != "arrow" && format != "parquet") {
        throw Error(
            fmt::format("--format: found \"{}\", allowed archive, csv, arrow, parquet", format));
    }
    if (what != "samples" && what != "verdicts" && what != "series") {
        throw Error(fmt::format("--table: found \"{}\", allowed samples, verdicts, series", what));
    }
    if (format != "csv" && !arguments.has("out") && ::isatty(STDOUT_FILENO) == 1) {
        throw Error(fmt::format("--format {} writes bytes: name a file with --out", format));
    }
    const Table table = wanted_table(arguments, what);
    const std::string bytes = format == "csv"     ? table_csv(table)
                              : format == "arrow" ? table_arrow(table)
                                                  : table_parquet(table);
    if (!arguments.has("out")) {
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        return kExitOk;
    }
    const std::string file = arguments.get("out");
    write_file_atomic(file, bytes);
    return print(arguments, {{"file", file}, {"table", what}, {"rows", table.rows()}}, file);
}

}  // namespace steady
