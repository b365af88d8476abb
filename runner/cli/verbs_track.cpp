// Regression tracking: each commit's champion against a frozen reference, as a duet, for every file
// of the standing suite. A run of the suite is an ordinary experiment in the queue; the series
// keeps its effect.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/cli/alert_channels.h"
#include "runner/cli/jobs.h"
#include "runner/cli/track_commits.h"
#include "runner/cli/track_repository.h"
#include "runner/cli/track_series.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/platform/host_lock.h"
#include "runner/platform/webhook.h"
#include "runner/track/track.h"

namespace steady {
namespace {

namespace fs = std::filesystem;
using track::StoredPoint;

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

// A commit that does not build or run is a point without a value, and the reason why.
StoredPoint measure(const Spec& spec, const Commit& commit, const std::string& engine,
                    const std::string& build_failure, const Arguments& arguments) {
    StoredPoint out = point_of(commit);
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

// Steady's own commits, by the standing suite.
struct EngineTracker {
    const Arguments& arguments;
    std::vector<Spec> specs;
    Tracker tracker;

    EngineTracker(const Arguments& given, const std::string& forge)
        : arguments(given), specs(suite(given)), tracker(given, wanted(specs, forge)) {}

    static std::vector<track::Series> wanted(const std::vector<Spec>& specs,
                                             const std::string& forge) {
        std::vector<track::Series> out;
        for (const Spec& spec : specs) out.push_back(series_of(spec, forge));
        return out;
    }

    void visit(Repository& repository, const Commit& commit, long long runs) {
        std::string engine = arguments.get("engine"), build_failure;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (arguments.has("backfill") && tracker.is_known(i, commit.sha)) {
                tracker.skip_known();
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
                tracker.keep(i, measure(specs[i], commit, engine, build_failure, arguments));
                if (!build_failure.empty()) break;
            }
        }
    }
};

// The measurements are stored, whatever becomes of the alerts.
void tell(const Arguments& arguments) {
    if (arguments.has("list")) return;
    gather_alerts(arguments);
    if (!has_alert_channel(arguments)) return;
    const AlertsSent sent = send_alerts(arguments);
    if (sent.failed > 0) throw Error(sent.failure, kExitInternal);
}

void refuse_repository_options(const Arguments& arguments) {
    for (const char* name : {"branch", "reference", "every", "budget", "pairs"}) {
        if (!arguments.has(name)) continue;
        throw Error(fmt::format("--{} belongs to --repo NAME; \".\" is the repository here", name));
    }
    if (arguments.rest.empty() && !arguments.lists.contains("question")) return;
    throw Error("a question of your own belongs to --repo NAME; \".\" is the repository here");
}

}  // namespace

int verb_track(const Arguments& arguments) {
    if (arguments.has("webhook")) parse_webhook(arguments.get("webhook"));
    interrupt_signal();
    if (tracks_repository(arguments)) {
        RepositoryTracking tracking(arguments);
        tracking.run();
        tracking.tracker().print_results();
        tell(arguments);
        return tracking.tracker().exit_code();
    }
    refuse_repository_options(arguments);
    Repository repository(project_root());
    const std::vector<Commit> commits = wanted_commits(repository, arguments);
    if (arguments.has("engine") && !arguments.has("list") && commits.size() != 1) {
        throw Error("--engine is one commit's engine: name that commit alone");
    }
    const long long runs = arguments.number("runs", 1, 1, 100);
    EngineTracker engines(arguments, forge_url(repository.remote()));
    for (const Commit& commit : commits) engines.visit(repository, commit, runs);
    engines.tracker.judge_all();
    engines.tracker.print_results();
    tell(arguments);
    return engines.tracker.exit_code();
}

}  // namespace steady
