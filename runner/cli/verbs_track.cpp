// Regression tracking: each commit's champion against a frozen reference, as a duet, for every file
// of the standing suite. A run of the suite is an ordinary experiment in the queue; the series
// keeps its effect.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.h"
#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/track_commits.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/settings.h"
#include "runner/platform/webhook.h"
#include "runner/statistics/statistics.h"
#include "runner/statistics/stopping_rule.h"
#include "runner/storage/track_store.h"
#include "runner/track/track.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using track::StoredPoint;

constexpr int kJudgedPoints = 5000;  // older history stays as it was judged
constexpr const char* kPrefix = "watch-";

// A file of the suite as asked of one commit: the seed is the commit's, so that a commit whose run
// was interrupted goes on where it was, and another commit never does.
Spec asked_of(const Spec& spec, const Commit& commit) {
    nlohmann::json document = nlohmann::json::parse(spec.canonical);
    document["schedule"]["seed"] = std::stoull(commit.sha.substr(0, 15), nullptr, 16);
    return decode_spec(document);
}

std::vector<Spec> suite(const Arguments& arguments) {
    const std::string folder = arguments.get("suite", project_root() + "/experiments/watch");
    std::vector<std::string> files;
    if (fs::is_directory(folder)) {
        for (const auto& entry : fs::directory_iterator(folder)) {
            if (entry.path().extension() == ".json") files.push_back(entry.path().string());
        }
    }
    if (files.empty()) {
        throw Error(
            fmt::format("no suite: {} holds no *.json. Name its folder with --suite", folder));
    }
    std::sort(files.begin(), files.end());
    std::vector<Spec> specs;
    for (const std::string& file : files) {
        specs.push_back(load_spec(file));
        if (!specs.back().id.starts_with(kPrefix)) {
            throw Error(fmt::format("{}: id \"{}\": files of the suite are named {}…", file,
                                    specs.back().id, kPrefix));
        }
        if (deciding_gate(specs.back()) == nullptr) {
            throw Error(fmt::format("{}: a series needs a gate with role decides", file));
        }
    }
    return specs;
}

std::vector<Commit> wanted_commits(const Repository& repository, const Arguments& arguments) {
    if (arguments.has("list")) return {};
    if (arguments.has("backfill")) {
        if (arguments.has("commit") || !arguments.words.empty()) {
            throw Error("--backfill chooses the commits itself: leave --commit out");
        }
        return repository.latest(static_cast<int>(arguments.number("backfill", 1, 1, 10000)));
    }
    std::vector<std::string> revisions = arguments.words;
    if (arguments.has("commit")) revisions.insert(revisions.begin(), arguments.get("commit"));
    if (revisions.empty()) revisions = {"HEAD"};
    std::vector<Commit> commits;
    for (const std::string& revision : revisions) {
        for (Commit& one : repository.commits(revision)) commits.push_back(std::move(one));
    }
    return commits;
}

// Small letters, digits, dots and dashes: part of an address.
std::string slug(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        out += fine ? c : (c >= 'A' && c <= 'Z') ? static_cast<char>(c + 32) : '-';
    }
    return out;
}

track::Series series_of(const Spec& spec, const std::string& forge) {
    track::Series series;
    series.watch = spec.id;
    series.metric = deciding_gate(spec)->metric;
    series.model = spec.subject.model;
    series.claim = spec.hypothesis.claim;
    series.host = host_name();
    series.forge = forge;
    series.name = spec.id.substr(std::string(kPrefix).size()) + "-on-" + slug(series.host);
    return series;
}

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

// Median over pairs of each pair's median time of a token.
double raw_time(const Record& record, bool champion) {
    const Gate* gate = deciding_gate(record.spec);
    const std::string metric = raw_metric(gate->metric);
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
    out.point.champion_ns = raw_time(record, true);
    out.point.reference_ns = raw_time(record, false);
    out.point.machine = comparable_facts(record);
    return out;
}

// A commit that does not build or run is a point without a value, and the reason why.
StoredPoint measure(const Spec& spec, const Commit& commit, const std::string& engine,
                    const std::string& build_failure, const Arguments& arguments) {
    StoredPoint out;
    out.point.commit = commit.sha;
    out.point.subject = commit.subject;
    out.point.date = commit.date;
    out.position = commit.position;
    out.failed = build_failure;
    if (!build_failure.empty()) return out;
    Arguments quiet = arguments;
    quiet.options["engine"] = engine;
    quiet.options["no-journal"] = "1";
    try {
        return point_of(run_here(asked_of(spec, commit), quiet), out);
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted || interrupt_signal().raised()) throw;
        out.failed = error.what();
        return out;
    }
}

struct Tracker {
    const Arguments& arguments;
    Store store;
    std::vector<Spec> specs;
    std::vector<track::Series> series;  // of each spec
    int measured = 0, failed = 0, known = 0;

    Tracker(const Arguments& given, const std::string& forge)
        : arguments(given), store(open_store(given)), specs(suite(given)) {
        store.connection().transact([&](Transaction& transaction) {
            series.clear();
            for (const Spec& spec : specs) {
                series.push_back(track::open_series(transaction, series_of(spec, forge)));
            }
        });
    }

    bool is_known(const track::Series& one, const Commit& commit) {
        if (!arguments.has("backfill")) return false;
        bool found = false;
        store.connection().transact([&](Transaction& transaction) {
            const auto all = track::measured_commits(transaction, one.id);
            found = std::find(all.begin(), all.end(), commit.sha) != all.end();
        });
        return found;
    }

    void visit(Repository& repository, const Commit& commit, long long runs) {
        std::string engine = arguments.get("engine"), build_failure;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (is_known(series[i], commit)) {
                ++known;
                continue;
            }
            if (engine.empty() && build_failure.empty()) {
                try {
                    engine = repository.engine(commit, arguments.has("quiet"));
                } catch (const Error& error) {
                    if (interrupt_signal().raised()) throw Error("interrupted", kExitInterrupted);
                    build_failure = error.what();
                }
            }
            for (long long run = 0; run < runs; ++run) {
                keep(i, measure(specs[i], commit, engine, build_failure, arguments));
                if (!build_failure.empty()) break;
            }
        }
    }

    void keep(std::size_t i, const StoredPoint& point) {
        store.connection().transact(
            [&](Transaction& transaction) { track::add_point(transaction, series[i].id, point); });
        point.failed.empty() ? ++measured : ++failed;
        if (arguments.has("quiet")) return;
        fmt::print(stderr, "{} {}: {}\n", series[i].name, point.point.commit.substr(0, 12),
                   point.failed.empty() ? fmt::format("{:.3f} × reference", point.point.ratio)
                                        : "failed: " + point.failed);
    }

    std::vector<TrackSummary> judge_all() {
        std::vector<TrackSummary> all;
        store.connection().transact([&](Transaction& transaction) {
            all.clear();
            for (const track::Series& one : series) {
                TrackSummary summary{.series = one.name,
                                     .metric = one.metric,
                                     .host = one.host,
                                     .forge = one.forge,
                                     .points = {},
                                     .judged = {},
                                     .found = {}};
                std::vector<StoredPoint> stored;
                for (StoredPoint& point : track::points(transaction, one.id, kJudgedPoints)) {
                    if (point.failed.empty()) stored.push_back(std::move(point));
                }
                for (const StoredPoint& point : stored) summary.points.push_back(point.point);
                summary.judged = judge_track(summary.points);
                summary.found = track::keep_judgement(transaction, one.id, stored, summary.judged);
                all.push_back(std::move(summary));
            }
        });
        return all;
    }
};

// Every alert is tried; the first failure is told at the end, when all numbers are safe.
void send_alerts(const std::vector<TrackSummary>& all, const WebhookAddress& address) {
    std::string failure;
    for (const TrackSummary& one : all) {
        if (one.found.empty()) continue;
        try {
            post_webhook(address, track_alert(one).dump());
        } catch (const Error& error) {
            if (failure.empty()) failure = error.what();
        }
    }
    if (!failure.empty()) {
        throw Error(failure + ". The measurements are stored; see them with: steady serve, /s",
                    kExitInternal);
    }
}

nlohmann::json tracked_json(const Tracker& tracker, const std::vector<TrackSummary>& all) {
    nlohmann::json rows = nlohmann::json::array();
    for (const TrackSummary& one : all) {
        nlohmann::json row = track_alert(one);
        row.erase("text");
        row["points"] = one.points.size();
        row["noise"] = one.judged.noise;
        row["ratio"] =
            one.points.empty() ? nlohmann::json() : nlohmann::json(one.points.back().ratio);
        row["level"] =
            one.judged.level.empty() ? nlohmann::json() : nlohmann::json(one.judged.level.back());
        row["levels_changed"] = one.judged.changes.size();
        rows.push_back(std::move(row));
    }
    return {{"measured", tracker.measured},
            {"failed", tracker.failed},
            {"known", tracker.known},
            {"series", std::move(rows)}};
}

std::string tracked_text(const Tracker& tracker, const std::vector<TrackSummary>& all) {
    std::string out = fmt::format("measured {}, failed {}, known before {}\n", tracker.measured,
                                  tracker.failed, tracker.known);
    for (const TrackSummary& one : all) {
        out += fmt::format("{}  {} points", one.series, one.points.size());
        if (!one.points.empty()) {
            out += fmt::format(", latest {:.3f} × reference, level {:.3f}, noise {:.2f} %",
                               one.points.back().ratio, one.judged.level.back(),
                               100 * one.judged.noise);
        }
        out += "\n";
        for (const TrackChange& change : one.found) {
            out += fmt::format(
                "  new: {} {:+.1f} % since {} ({})\n", change.shift < 0 ? "slower" : "faster",
                100 * std::expm1(change.shift), change.commit.substr(0, 12), change.cause);
        }
    }
    return out + "see: steady serve, then /s";
}

bool got_slower(const std::vector<TrackSummary>& all) {
    return std::any_of(all.begin(), all.end(), [](const TrackSummary& one) {
        return std::any_of(one.found.begin(), one.found.end(),
                           [](const TrackChange& change) { return change.shift < 0; });
    });
}

}  // namespace

int verb_track(const Arguments& arguments) {
    const std::string url =
        arguments.has("webhook") ? arguments.get("webhook") : setting("webhook");
    std::optional<WebhookAddress> webhook;
    if (!url.empty()) webhook = parse_webhook(url);
    interrupt_signal();
    Repository repository(project_root());
    const std::vector<Commit> commits = wanted_commits(repository, arguments);
    if (arguments.has("engine") && !arguments.has("list") && commits.size() != 1) {
        throw Error("--engine is one commit's engine: name that commit alone");
    }
    const long long runs = arguments.number("runs", 1, 1, 100);
    Tracker tracker(arguments, forge_url(repository.remote()));
    for (const Commit& commit : commits) tracker.visit(repository, commit, runs);
    const std::vector<TrackSummary> all = tracker.judge_all();
    if (arguments.has("json")) {
        fmt::print("{}\n", tracked_json(tracker, all).dump(2));
    } else if (arguments.has("markdown")) {
        fmt::print("{}", track_markdown(all));
    } else {
        fmt::print("{}\n", tracked_text(tracker, all));
    }
    if (webhook) send_alerts(all, *webhook);
    if (arguments.has("list")) return kExitOk;
    if (got_slower(all)) return exit_code(Verdict::reject);
    if (tracker.measured + tracker.known == 0) return exit_code(Verdict::invalid);
    return kExitOk;
}

}  // namespace steady
