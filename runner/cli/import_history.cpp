// Histories of other benchmark programs → series of points. A ratio is the value against the oldest
// value of the first import; nothing ran beside it, so no change in it becomes an alert.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/adapters/history.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/cli/exchange.h"
#include "runner/cli/programs.h"
#include "runner/cli/records.h"
#include "runner/cli/track_series.h"
#include "runner/platform/files.h"
#include "runner/platform/host_lock.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using track::StoredPoint;

constexpr std::size_t kHash = 40;
constexpr int kMostPoints = 100000;
constexpr std::size_t kShownLeftOut = 20;

// A point with its place in the history.
struct Placed {
    HistoryPoint point;
    Commit commit;
};

std::vector<AdapterFile> history_files(const std::vector<std::string>& words) {
    std::vector<AdapterFile> out;
    for (const std::string& word : words) {
        if (!fs::is_directory(word)) {
            out.push_back({word, read_named_file(word)});
            continue;
        }
        const std::size_t before = out.size();
        for (const auto& one : fs::recursive_directory_iterator(word)) {
            const std::string path = one.path().string();
            const bool text =
                path.ends_with(".json") || path.ends_with(".jsonl") || path.ends_with(".txt");
            if (one.is_regular_file() && text) {
                out.push_back({fs::relative(one.path(), word).string(), read_file(path)});
            }
        }
        if (out.size() == before) throw Error(fmt::format("{} holds no results", word));
    }
    std::sort(out.begin(), out.end(),
              [](const AdapterFile& a, const AdapterFile& b) { return a.path < b.path; });
    return out;
}

// Which commit a point belongs to: --commit, else what the history says; --repo knows the rest.
class Places {
public:
    explicit Places(const Arguments& arguments) : arguments_(arguments) {
        if (!arguments.has("repo")) return;
        repository_.emplace(resolve_repository(arguments.get("repo")), arguments.get("branch"));
        for (Commit& one : repository_->line(kMostPoints)) {
            std::string sha = one.sha;
            line_.emplace(std::move(sha), std::move(one));
        }
    }

    const std::optional<Repository>& repository() const { return repository_; }

    // Empty sha: `why` says what is missing.
    Commit find(const HistoryPoint& point, std::string& why) {
        const std::string hash = arguments_.has("commit") ? arguments_.get("commit") : point.commit;
        if (repository_) return in_repository(hash, why);
        Commit out;
        const std::string date = arguments_.get("date", point.date);
        const auto at = seconds_of(date);
        if (hash.size() != kHash || commit_in_path(hash) != hash) {
            why = fmt::format(
                "found commit \"{}\", allowed 40 hex digits; --repo NAME looks a shorter one up, "
                "--commit REV names it",
                hash);
        } else if (!at) {
            why = date.empty()
                      ? "no date: give --date, or --repo NAME, which knows it"
                      : fmt::format("found date \"{}\", allowed 2026-11-24T03:00:00Z", date);
        } else {
            out = {hash, "", utc_text(*at), static_cast<int>(*at / 60)};
        }
        return out;
    }

private:
    Commit in_repository(const std::string& hash, std::string& why) {
        const auto known = found_.find(hash);
        if (known != found_.end()) return known->second;
        Commit out;
        const auto on_line = line_.lower_bound(hash);
        if (!hash.empty() && on_line != line_.end() && on_line->first.starts_with(hash)) {
            out = on_line->second;
        } else {
            try {
                out = repository_->commits(hash).at(0);
            } catch (const Error& error) {
                if (error.exit_code == kExitInterrupted) throw;
                why = hash.empty() ? "the history names no commit: give --commit REV"
                                   : fmt::format("{} has no commit {}", repository_->root(), hash);
                return out;
            }
        }
        return found_[hash] = out;
    }

    const Arguments& arguments_;
    std::optional<Repository> repository_;
    std::map<std::string, Commit> line_, found_;
};

struct Key {
    std::string host, branch, metric, benchmark;
    auto operator<=>(const Key&) const = default;
};

// "a--b-" → "a-b"
std::string single_dashes(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c != '-' || (!out.empty() && out.back() != '-')) out += c;
    }
    while (out.ends_with('-')) out.pop_back();
    return out;
}

track::Series series_of(const Arguments& arguments, const Key& key, const Placed& first,
                        const std::string& project, const std::optional<Repository>& repository) {
    track::Series out;
    out.source = arguments.get("adapter");
    out.metric = key.metric;
    out.unit = first.point.unit;
    out.host = key.host;
    out.branch = key.branch;
    out.repository = arguments.get("repo", project);
    if (repository) {
        if (out.repository == ".") out.repository = repository->name();
        out.forge = forge_url(repository->remote());
    }
    out.watch =
        fmt::format("{}:{}:{}:{}:{}", out.source, project, key.branch, key.metric, key.benchmark);
    out.claim = key.benchmark;
    out.model = fmt::format("{}{}{}", project, key.branch.empty() ? "" : ", branch ", key.branch);
    out.reference = first.commit.sha;
    const std::string tail = "-" + sha256_hex(out.watch + "\n" + out.host).substr(0, 8);
    std::string stem = slug(fmt::format("{}-{}-{}", project, key.benchmark, key.metric));
    stem = single_dashes(stem);
    out.name = stem.substr(0, 100) + tail;
    return out;
}

StoredPoint stored_of(const Placed& placed, double base) {
    const HistoryPoint& point = placed.point;
    const auto ratio = [&](double value) {
        return point.direction == Direction::lower_is_better ? base / value : value / base;
    };
    StoredPoint out = point_of(placed.commit);
    out.point.ratio = ratio(point.value);
    std::optional<double> a, b;
    if (point.low && *point.low > 0) a = ratio(*point.low);
    if (point.high && *point.high > 0) b = ratio(*point.high);
    if (a && b) out.point.interval = {std::min(*a, *b), std::max(*a, *b)};
    out.point.champion_ns = point.value;
    out.point.reference_ns = base;
    out.point.machine = point.machine;
    out.point.method = point.method;
    return out;
}

struct ImportedSeries {
    track::Series series;
    int added = 0, known = 0;
    std::size_t points = 0, changes = 0;
};

ImportedSeries import_series(Transaction& transaction, const track::Series& wanted,
                             const std::vector<Placed>& placed) {
    ImportedSeries out{.series = track::open_series(transaction, wanted)};
    const std::vector<StoredPoint> before = track::points(transaction, out.series.id, 1000000);
    const double base =
        before.empty() ? placed.front().point.value : before.front().point.reference_ns;
    for (const Placed& one : placed) {
        const bool fresh =
            track::add_foreign_point(transaction, out.series.id, stored_of(one, base));
        (fresh ? out.added : out.known)++;
    }
    const std::vector<StoredPoint> all = track::points(transaction, out.series.id, 5000);
    std::vector<TrackPoint> points;
    for (const StoredPoint& one : all) points.push_back(one.point);
    TrackJudgement judged = judge_track(points);
    without_control(judged);
    track::keep_judgement(transaction, out.series.id, all, judged);
    out.points = all.size();
    out.changes = judged.changes.size();
    return out;
}

std::map<Key, std::vector<Placed>> place_all(const Arguments& arguments, History& history,
                                             Places& places) {
    std::map<Key, std::vector<Placed>> out;
    std::map<std::string, int> refused;
    for (HistoryPoint& point : history.points) {
        std::string why;
        const Commit commit = places.find(point, why);
        if (commit.sha.empty()) {
            ++refused[why];
            continue;
        }
        const std::string branch = arguments.get(
            "branch", places.repository() && point.branch.empty() ? places.repository()->branch()
                                                                  : point.branch);
        const Key key{arguments.get("host", point.host.empty() ? host_name() : point.host), branch,
                      point.metric, point.benchmark};
        out[key].push_back({std::move(point), commit});
    }
    for (const auto& [why, n] : refused) {
        history.left_out.push_back(fmt::format("{} value{}: {}", n, n == 1 ? "" : "s", why));
    }
    for (auto& [key, points] : out) {
        std::stable_sort(points.begin(), points.end(), [](const Placed& a, const Placed& b) {
            return std::pair(a.commit.position, a.commit.date) <
                   std::pair(b.commit.position, b.commit.date);
        });
    }
    return out;
}

void check_import_options(const Arguments& arguments) {
    if (arguments.words.empty()) {
        throw Error("steady import --adapter NAME needs a FILE or a folder of results");
    }
    if (arguments.has("shipped")) throw Error("--shipped belongs to archives: leave --adapter out");
    if (arguments.has("date") && !seconds_of(arguments.get("date"))) {
        throw Error(fmt::format("--date: found \"{}\", allowed a time as 2026-11-24T03:00:00Z",
                                arguments.get("date")));
    }
}

std::string project_of(const Arguments& arguments, const History& history, const Places& places) {
    if (arguments.has("project")) return arguments.get("project");
    if (places.repository()) return places.repository()->name();
    return history.project.empty() ? "imported" : history.project;
}

}  // namespace

int import_history(const Arguments& arguments) {
    check_import_options(arguments);
    History history = read_history(arguments.get("adapter"), history_files(arguments.words),
                                   arguments.get("metric"));
    Places places(arguments);
    const std::string project = project_of(arguments, history, places);
    const auto placed = place_all(arguments, history, places);
    if (placed.empty()) {
        throw Error(fmt::format("nothing to import: {}", fmt::join(history.left_out, "; ")));
    }
    Store store = open_store(arguments);
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    int added = 0, known = 0;
    for (const auto& [key, points] : placed) {
        const track::Series wanted =
            series_of(arguments, key, points.front(), project, places.repository());
        ImportedSeries one;
        store.connection().transact([&, &chosen = points](Transaction& transaction) {
            one = import_series(transaction, wanted, chosen);
        });
        added += one.added;
        known += one.known;
        rows.push_back({{"series", one.series.name},
                        {"benchmark", key.benchmark},
                        {"metric", key.metric},
                        {"host", key.host},
                        {"branch", key.branch},
                        {"added", one.added},
                        {"known", one.known},
                        {"points", one.points},
                        {"changes", one.changes}});
        text += fmt::format("{}  {} points ({} new), {} changes of level\n", one.series.name,
                            one.points, one.added, one.changes);
    }
    for (std::size_t i = 0; i < history.left_out.size() && i < kShownLeftOut; ++i) {
        text += fmt::format("left out: {}\n", escape_line(history.left_out[i]));
    }
    if (history.left_out.size() > kShownLeftOut) {
        text += fmt::format("left out: {} more\n", history.left_out.size() - kShownLeftOut);
    }
    text += fmt::format("{} points imported, {} were here already; see: steady serve, then /s",
                        added, known);
    return print(arguments,
                 {{"added", added},
                  {"known", known},
                  {"series", std::move(rows)},
                  {"left_out", history.left_out}},
                 text);
}

}  // namespace steady
