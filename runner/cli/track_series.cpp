// A series is judged anew from all its points after each measurement; the store keeps which changes
// were known before and what people made of them.
#include "runner/cli/track_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/cli/records.h"
#include "runner/figures/numbers.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/statistics/statistics.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {
namespace {

using track::StoredPoint;

constexpr int kJudgedPoints = 5000;  // older history stays as it was judged

std::string comparable_facts(const Record& record) {
    if (record.attempts.empty()) return "";
    const Fingerprint& facts = record.attempts.back().fingerprint;
    std::string out;
    for (const char* key : {"cpu_model", "cpus", "kernel", "governor", "model_sha256"}) {
        const auto found = facts.find(key);
        out += fmt::format("{}={}\n", key, found == facts.end() ? "" : found->second);
    }
    return out;
}

// Median over pairs of each pair's median value: of the engine the time of a token.
double raw_value(const Record& record, bool champion) {
    const Gate* gate = deciding_gate(record.spec);
    const std::string metric = raw_metric(record.spec, gate->metric);
    std::vector<double> medians;
    for (const Pair& pair : record.pairs) {
        const auto index = static_cast<std::size_t>(pair.gate);
        if (pair.kind != PairKind::measure || !pair.sealed || !pair.discarded.empty()) continue;
        if (index >= record.spec.gates.size() || &record.spec.gates[index] != gate) continue;
        const auto& arm = champion ? pair.b : pair.a;
        const auto values = arm.find(metric);
        if (values != arm.end()) medians.push_back(median(values->second));
    }
    return medians.empty() ? 0 : median(medians);
}

std::string change_line(const TrackChange& change) {
    const std::string range =
        change.interval.low && change.interval.high
            ? fmt::format(" [{:+.1f}, {:+.1f}]", 100 * std::expm1(*change.interval.low),
                          100 * std::expm1(*change.interval.high))
            : "";
    std::string out = fmt::format(
        "{} {:+.1f} %{} since {} ({}", change.shift < 0 ? "slower" : "faster",
        100 * std::expm1(change.shift), range, change.commit.substr(0, 12), change.cause);
    if (change.confirmation != Confirmation::none) {
        out += fmt::format("; direct A/B {}: {}", change.confirmed_by, name(change.confirmation));
    }
    if (!change.cross_checked) out += "; not found by E-Divisive";
    return out + ")";
}

}  // namespace

std::string slug(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        out += fine ? c : (c >= 'A' && c <= 'Z') ? static_cast<char>(c + 32) : '-';
    }
    return out;
}

StoredPoint point_of(const Commit& commit) {
    StoredPoint out;
    out.point.commit = commit.sha;
    out.point.subject = commit.subject;
    out.point.date = commit.date;
    out.position = commit.position;
    return out;
}

StoredPoint point_of(const Record& record, StoredPoint out) {
    out.point.experiment = record.id;
    const Analysis& analysis = *record.analysis;
    if (!analysis.effect || !(1 + *analysis.effect > 0)) {
        out.failed =
            fmt::format("{}{}{}: {}", name(analysis.verdict), analysis.reason.empty() ? "" : " / ",
                        analysis.reason, analysis.sentence);
        return out;
    }
    out.point.ratio = 1 + *analysis.effect;
    if (analysis.interval.low) out.point.interval.low = 1 + *analysis.interval.low;
    if (analysis.interval.high) out.point.interval.high = 1 + *analysis.interval.high;
    out.point.pairs = analysis.pairs;
    out.point.champion_ns = raw_value(record, true);
    out.point.reference_ns = raw_value(record, false);
    out.point.machine = comparable_facts(record);
    return out;
}

Tracker::Tracker(const Arguments& arguments, std::vector<track::Series> wanted)
    : arguments_(arguments), store_(open_store(arguments)) {
    store_.connection().transact([&](Transaction& transaction) {
        series_.clear();
        for (const track::Series& one : wanted) {
            series_.push_back(track::open_series(transaction, one));
        }
    });
}

bool Tracker::is_known(std::size_t series, const std::string& commit) {
    if (known_commits_.empty()) known_commits_.resize(series_.size());
    auto& known = known_commits_[series];
    if (!known) {
        store_.connection().transact([&](Transaction& transaction) {
            const auto all = track::measured_commits(transaction, series_[series].id);
            known.emplace(all.begin(), all.end());
        });
    }
    return known->contains(commit);
}

std::optional<std::string> Tracker::failure_of(std::size_t series, const std::string& commit) {
    std::optional<std::string> why;
    store_.connection().transact([&](Transaction& transaction) {
        why = track::failure(transaction, series_[series].id, commit);
    });
    return why;
}

void Tracker::keep(std::size_t series, const StoredPoint& point) {
    store_.connection().transact([&](Transaction& transaction) {
        track::add_point(transaction, series_[series].id, point);
    });
    point.failed.empty() ? ++measured_ : ++failed_;
    if (point.failed.empty() && !known_commits_.empty() && known_commits_[series]) {
        known_commits_[series]->insert(point.point.commit);
    }
    if (arguments_.has("quiet")) return;
    fmt::print(stderr, "{} {}: {}\n", series_[series].name, point.point.commit.substr(0, 12),
               point.failed.empty() ? fmt::format("{:.4f} × reference", point.point.ratio)
                                    : "failed: " + point.failed);
}

TrackSummary Tracker::judge(Transaction& transaction, std::size_t series) {
    const track::Series& one = series_[series];
    TrackSummary summary{.series = one.name,
                         .metric = one.metric,
                         .host = one.host,
                         .forge = one.forge,
                         .repository = one.repository,
                         .question = one.repository.empty() ? "" : one.watch,
                         .points = {},
                         .judged = {},
                         .found = {}};
    std::vector<StoredPoint> stored;
    for (StoredPoint& point : track::points(transaction, one.id, kJudgedPoints)) {
        if (point.failed.empty()) stored.push_back(std::move(point));
    }
    for (const StoredPoint& point : stored) summary.points.push_back(point.point);
    std::vector<ConfirmedStep> confirmed;
    for (const track::Change& known : track::changes(transaction, one.id)) {
        const bool stands = known.change.confirmation == Confirmation::confirmed && !known.gone;
        if (stands) confirmed.push_back({known.change.before, known.change.commit});
    }
    summary.judged = judge_track(summary.points, confirmed);
    if (!one.source.empty()) without_control(summary.judged);
    summary.found = track::keep_judgement(transaction, one.id, stored, summary.judged);
    for (const track::Change& known : track::changes(transaction, one.id)) {
        for (TrackChange& change : summary.judged.changes) {
            if (known.gone || known.change.commit != change.commit) continue;
            change.confirmation = known.change.confirmation;
            change.confirmed_by = known.change.confirmed_by;
            change.cause = known.change.cause;
        }
    }
    return summary;
}

const std::vector<TrackSummary>& Tracker::judge_all() {
    const std::vector<TrackSummary> before = std::move(all_);
    store_.connection().transact([&](Transaction& transaction) {
        all_.clear();
        for (std::size_t i = 0; i < series_.size(); ++i) {
            all_.push_back(judge(transaction, i));
            if (i >= before.size()) continue;
            for (const TrackChange& change : all_[i].judged.changes) {
                const auto same = [&](const TrackChange& one) {
                    return one.shift * change.shift > 0 && one.index + 4 >= change.index &&
                           change.index + 4 >= one.index;
                };
                const auto& old = before[i].found;
                const auto& now = all_[i].found;
                if (std::any_of(old.begin(), old.end(), same) &&
                    std::none_of(now.begin(), now.end(), same)) {
                    all_[i].found.push_back(change);
                }
            }
        }
    });
    return all_;
}

void Tracker::confirm(std::size_t series, TrackChange& change) {
    if (change.confirmation == Confirmation::refuted) change.cause = "noise";
    store_.connection().transact([&](Transaction& transaction) {
        track::keep_confirmation(transaction, series_[series].id, change);
    });
    for (TrackChange& found : all_[series].found) {
        if (found.commit == change.commit) found = change;
    }
}

void Tracker::add_step(std::size_t series, const TrackChange& change) {
    store_.connection().transact([&](Transaction& transaction) {
        track::add_confirmed_step(transaction, series_[series].id, change);
    });
    all_[series].found.push_back(change);
}

nlohmann::json Tracker::json() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const TrackSummary& one : all_) {
        nlohmann::json row = track_alert(one);
        row.erase("text");
        row["points"] = one.points.size();
        row["noise"] = one.judged.noise;
        row["ratio"] =
            one.points.empty() ? nlohmann::json() : nlohmann::json(one.points.back().ratio);
        row["level"] =
            one.judged.level.empty() ? nlohmann::json() : nlohmann::json(one.judged.level.back());
        row["levels_changed"] = one.judged.changes.size();
        TrackSummary every = one;
        every.found = one.judged.changes;
        row["all_changes"] = track_alert(every).at("changes");
        nlohmann::json only = nlohmann::json::array();
        for (const std::size_t at : one.judged.only_cross_check) {
            only.push_back(one.points[at].commit);
        }
        row["only_cross_check"] = std::move(only);
        rows.push_back(std::move(row));
    }
    return {{"measured", measured_},
            {"failed", failed_},
            {"known", known_},
            {"series", std::move(rows)}};
}

std::string Tracker::text() const {
    std::string out =
        fmt::format("measured {}, failed {}, known before {}\n", measured_, failed_, known_);
    for (const TrackSummary& one : all_) {
        out += fmt::format("{}  {} points", one.series, one.points.size());
        if (!one.points.empty()) {
            out += fmt::format(", latest {:.3f} × reference, level {:.3f}, noise {:.2f} %",
                               one.points.back().ratio, one.judged.level.back(),
                               100 * one.judged.noise);
        }
        out += "\n";
        for (const TrackChange& change : one.judged.changes) {
            const bool fresh = std::any_of(
                one.found.begin(), one.found.end(),
                [&](const TrackChange& found) { return found.commit == change.commit; });
            out += fmt::format("  {}{}\n", fresh ? "new: " : "known: ", change_line(change));
        }
    }
    return out + "see: steady serve, then /s";
}

void Tracker::print_results() const {
    if (arguments_.has("json")) {
        fmt::print("{}\n", json().dump(2));
    } else if (arguments_.has("markdown")) {
        fmt::print("{}", track_markdown(all_));
    } else {
        fmt::print("{}\n", text());
    }
}

int Tracker::exit_code() const {
    if (arguments_.has("list")) return kExitOk;
    const bool slower = std::any_of(all_.begin(), all_.end(), [](const TrackSummary& one) {
        return std::any_of(one.found.begin(), one.found.end(), [](const TrackChange& change) {
            return change.shift < 0 && change.cause != "noise" &&
                   change.confirmation != Confirmation::open;
        });
    });
    if (slower) return steady::exit_code(Verdict::reject);
    if (measured_ + known_ == 0) return steady::exit_code(Verdict::invalid);
    return kExitOk;
}

}  // namespace steady
