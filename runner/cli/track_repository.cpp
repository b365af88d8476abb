// Each measurement is an ordinary experiment of two revisions, found again after a stop by its
// file. Commits are visited from both ends towards the middle of the widest gap, so that a backfill
// that is stopped early covers the whole history, and so that a machine's drift over the hours is
// not mistaken for the order of the commits.
#include "runner/cli/track_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/cli/jobs.h"
#include "runner/cli/programs.h"
#include "runner/cli/track_questions.h"
#include "runner/cli/workspace.h"
#include "runner/platform/host_lock.h"
#include "runner/track/revision_question.h"

namespace steady {
namespace {

using track::StoredPoint;

constexpr int kMostCommits = 10000;

std::string step_id(const Spec& spec, const std::string& commit, const char* what) {
    std::string stem = spec.id.substr(0, 40);
    while (stem.ends_with('-')) stem.pop_back();
    return fmt::format("watch-{}-{}{}", stem, commit.substr(0, 10), what);
}

std::string unit_of(const Spec& spec) {
    const Gate& gate = *deciding_gate(spec);
    return find_metric(gate.metric).unit;
}

// What must be equal for two points to be measured in the same way.
std::string method_of(const Record& record) {
    const nlohmann::json document = nlohmann::json::parse(record.spec.canonical);
    nlohmann::json asked = {{"gates", document.at("gates")}, {"subject", document.at("subject")}};
    for (const char* arm : {"A", "B"}) {
        asked["arms"][arm] = document.at("arms").at(arm);
        asked["arms"][arm].erase("rev");
    }
    std::string out =
        fmt::format("question={}\nreference={}\n", sha256_hex(asked.dump()).substr(0, 12),
                    record.spec.arms.at("A").rev);
    if (!record.evidence.applied) return out;
    const auto arm = record.evidence.applied->arms.find("A");
    if (arm == record.evidence.applied->arms.end()) return out;
    for (const auto& [fact, value] : arm->second.facts) {
        const bool counts = fact.starts_with("tool ") || fact == "program_sha256" ||
                            fact == "program_libraries_sha256";
        if (counts) out += fmt::format("{}={}\n", fact, value);
    }
    return out;
}

// Both ends, then the middle of the widest gap, and so on.
std::vector<std::size_t> from_the_ends(std::size_t n) {
    std::vector<std::size_t> order;
    if (n > 0) order.push_back(n - 1);
    if (n > 1) order.push_back(0);
    std::queue<std::pair<std::size_t, std::size_t>> gaps;
    if (n > 2) gaps.emplace(0, n - 1);
    while (!gaps.empty()) {
        const auto [low, high] = gaps.front();
        gaps.pop();
        const std::size_t middle = low + (high - low) / 2;
        if (middle == low) continue;
        order.push_back(middle);
        gaps.emplace(low, middle);
        gaps.emplace(middle, high);
    }
    return order;
}

}  // namespace

struct RepositoryTracking::Work {
    const Arguments& arguments;
    Arguments quiet;
    Repository repository;
    std::string branch;
    std::vector<Commit> line;                   // of first parents, the oldest first
    std::map<std::string, std::size_t> places;  // sha → place in the line
    std::vector<Spec> specs;
    std::unique_ptr<Tracker> tracker;
    std::string reference, reference_tree;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

    explicit Work(const Arguments& given)
        : arguments(given),
          quiet(given),
          repository(resolve_repository(given.get("repo")), given.get("branch")),
          branch(repository.branch()),
          line(repository.line(kMostCommits)) {
        quiet.options["no-journal"] = "1";
        quiet.options["quiet"] = "1";
        for (std::size_t i = 0; i < line.size(); ++i) places[line[i].sha] = i;
        specs = track_questions(given, repository.root(), branch);
        if (given.has("reference")) reference = on_line(given.get("reference"), "--reference");
        std::vector<track::Series> wanted;
        for (const Spec& spec : specs) wanted.push_back(series_of(spec));
        tracker = std::make_unique<Tracker>(given, wanted);
    }

    // The commit; it need not be on the branch.
    std::string on_line(const std::string& revision, const char* option) const {
        const std::vector<Commit> found = repository.commits(revision);
        if (found.size() == 1) return found[0].sha;
        throw Error(fmt::format("{}: found {}, allowed: one commit", option, revision));
    }

    track::Series series_of(const Spec& spec) const {
        track::Series series;
        const std::string name = repository.name();
        series.watch = fmt::format("{}:{}:{}", name, branch, spec.id);
        series.metric = deciding_gate(spec)->metric;
        series.claim = spec.hypothesis.claim;
        series.model = fmt::format("{}, branch {}", name, branch);
        series.host = host_name();
        series.forge = forge_url(repository.remote());
        series.repository = arguments.get("repo") == "." ? name : arguments.get("repo");
        series.branch = branch;
        series.reference = reference;
        series.unit = unit_of(spec);
        series.name = slug(fmt::format("{}-{}-{}-on-{}", name, branch, spec.id, series.host));
        if (series.name.size() > 120) {
            series.name = series.name.substr(0, 110) + "-" +
                          sha256_hex(series.watch + series.host).substr(0, 8);
        }
        return series;
    }

    void say(const std::string& text) const {
        if (!arguments.has("quiet")) fmt::print(stderr, "{}\n", text);
    }

    std::size_t place_of(const std::string& sha) const {
        const auto found = places.find(sha);
        if (found != places.end()) return found->second;
        throw Error(fmt::format(
            "{} is not on the line of first parents of {}: name a commit of that line, or track "
            "another --branch",
            sha.substr(0, 12), branch));
    }

    // Places in the line, the oldest first.
    std::vector<std::size_t> wanted() const {
        std::vector<std::string> named = arguments.words;
        named.resize(named.size() - arguments.rest.size());
        if (arguments.has("commit")) named.push_back(arguments.get("commit"));
        std::vector<std::size_t> out;
        for (const std::string& revision : named) {
            for (const Commit& one : repository.commits(revision)) out.push_back(place_of(one.sha));
        }
        if (!named.empty() && arguments.has("backfill")) {
            throw Error("--backfill chooses the commits itself: leave --commit out");
        }
        if (named.empty()) {
            const auto most = static_cast<std::size_t>(
                arguments.number("backfill", kMostCommits, 1, kMostCommits));
            const std::size_t first = arguments.has("backfill")
                                          ? line.size() - std::min(most, line.size())
                                          : after_latest();
            for (std::size_t i = first; i < line.size(); ++i) out.push_back(i);
        }
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return thinned(out);
    }

    // Of a call without any choice: what came after the newest measured commit, else the tip.
    std::size_t after_latest() const {
        std::size_t first = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            for (std::size_t s = 0; s < specs.size(); ++s) {
                if (tracker->is_known(s, line[i].sha)) first = i + 1;
            }
        }
        return first == 0 ? line.size() - 1 : first;
    }

    std::vector<std::size_t> thinned(const std::vector<std::size_t>& all) const {
        const auto every = static_cast<std::size_t>(arguments.number("every", 1, 1, kMostCommits));
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if ((all.size() - 1 - i) % every == 0 || i == 0) out.push_back(all[i]);
        }
        return out;
    }

    // Given, stored with the series, or the oldest commit of this call.
    void pin_reference(const std::vector<std::size_t>& chosen) {
        bool kept = true;  // by every series
        for (const track::Series& one : tracker->series()) {
            if (reference.empty()) reference = one.reference;
        }
        if (reference.empty() && !chosen.empty()) reference = line[chosen.front()].sha;
        if (reference.empty()) return;
        reference_tree = repository.tree(reference);
        for (const track::Series& one : tracker->series()) {
            kept = kept && one.reference == reference;
        }
        if (kept) return;
        std::vector<track::Series> wanted;
        for (const Spec& spec : specs) wanted.push_back(series_of(spec));
        tracker = std::make_unique<Tracker>(arguments, wanted);
        say(fmt::format("reference: {}, kept for later calls; another one: --reference REV",
                        reference.substr(0, 12)));
    }

    bool out_of_time() const {
        if (!arguments.has("budget")) return false;
        const auto most = std::chrono::minutes(arguments.number("budget", 1, 1, 100000));
        return std::chrono::steady_clock::now() - began > most;
    }

    Spec asked_of(const Spec& spec, const Commit& commit) const {
        const Gate& gate = *deciding_gate(spec);
        const bisect::Thresholds asked{gate.floor, matters(gate)};
        nlohmann::json document = revision_question(spec, reference, commit.sha, asked);
        document["id"] = step_id(spec, commit.sha, "");
        document["schedule"]["seed"] = std::stoull(commit.sha.substr(0, 13), nullptr, 16);
        return decode_spec(document);
    }

    StoredPoint measure(std::size_t series, const Commit& commit) {
        StoredPoint out = point_of(commit);
        if (repository.tree(commit.sha) == reference_tree) {
            out.point.ratio = 1;  // the very same files
            return out;
        }
        try {
            const bool failed_before = tracker->failure_of(series, commit.sha).has_value();
            const Record record = run_here(asked_of(specs[series], commit), quiet, nullptr, nullptr,
                                           failed_before ? IfDecided::again : IfDecided::keep);
            out = point_of(record, out);
            out.point.method = method_of(record);
        } catch (const Error& error) {
            if (error.exit_code == kExitInterrupted || interrupt_signal().raised()) throw;
            out.failed = error.what();
        }
        return out;
    }

    // True: something new is known.
    bool visit(std::size_t place) {
        bool fresh = false;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            const auto failure = tracker->failure_of(i, line[place].sha);
            if (tracker->is_known(i, line[place].sha) ||
                (failure && failure->starts_with("invalid"))) {
                tracker->skip_known();
                continue;
            }
            tracker->keep(i, measure(i, line[place]));
            fresh = true;
        }
        return fresh;
    }

    // A commit between the two sides of a change that nobody measured, in the middle.
    std::optional<std::size_t> gap_of(std::size_t series, const TrackChange& change) const {
        const auto low = places.find(change.before), high = places.find(change.commit);
        if (low == places.end() || high == places.end()) return std::nullopt;
        std::vector<std::size_t> open;
        for (std::size_t i = low->second + 1; i < high->second; ++i) {
            if (!tracker->is_known(series, line[i].sha) &&
                !tracker->failure_of(series, line[i].sha)) {
                open.push_back(i);
            }
        }
        if (open.empty()) return std::nullopt;
        return open[open.size() / 2];
    }

    void narrow() {
        for (bool going = true; going && !out_of_time();) {
            going = false;
            const std::vector<TrackSummary> all = tracker->judge_all();
            for (std::size_t i = 0; i < all.size(); ++i) {
                std::vector<TrackChange> open = all[i].judged.changes;
                const auto steps = suspected_steps(all[i].points, all[i].judged);
                open.insert(open.end(), steps.begin(), steps.end());
                for (const TrackChange& change : open) {
                    const auto place = gap_of(i, change);
                    if (place && visit(*place)) going = true;
                }
            }
        }
        tracker->judge_all();
    }

    Confirmation ask_directly(const Spec& spec, TrackChange& change) {
        const bool worse = change.shift < 0;
        const double size = std::fabs(change.shift);
        const bisect::Thresholds asked = bisect::thresholds({.estimate = size, .proven = size});
        const std::string &a = worse ? change.commit : change.before,
                          &b = worse ? change.before : change.commit;
        nlohmann::json document = revision_question(spec, a, b, asked);
        document["id"] = step_id(spec, change.commit, "-ab");
        document["schedule"]["pairs"]["max"] =
            std::max<int>(100, document["schedule"].value("/pairs/max"_json_pointer, 0));
        const Record record =
            run_here(decode_spec(document), quiet, nullptr, nullptr, IfDecided::keep);
        change.confirmed_by = record.id;
        switch (bisect::side_of(*record.analysis, bisect::End::good)) {
            case bisect::Side::bad:
                return Confirmation::confirmed;
            case bisect::Side::good:
                return Confirmation::refuted;
            default:
                return Confirmation::open;
        }
    }

    void confirm() {
        const std::vector<TrackSummary> all = tracker->judge_all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (TrackChange change : all[i].judged.changes) {
                if (change.confirmation != Confirmation::none || change.cause != "code") continue;
                change.confirmation = answer_of(i, all[i].series, change);
                if (change.confirmation == Confirmation::none) continue;
                const bool elsewhere = change.confirmation != Confirmation::confirmed &&
                                       confirm_beside(i, all[i], change);
                if (elsewhere) change.confirmation = Confirmation::refuted;
                tracker->confirm(i, change);
            }
        }
        confirm_steps();
        tracker->judge_all();
    }

    // Whether the change lies at a neighbour, where it becomes a step of its own.
    bool confirm_beside(std::size_t series, const TrackSummary& one, const TrackChange& change) {
        for (TrackChange& step : places_beside(one.points, change)) {
            if (gap_of(series, step) || out_of_time()) continue;
            step.confirmation = answer_of(series, one.series, step);
            if (step.confirmation != Confirmation::confirmed) continue;
            tracker->add_step(series, step);
            return true;
        }
        return false;
    }

    // What a few points only suggest becomes a change when its two sides, asked directly, differ.
    void confirm_steps() {
        const std::vector<TrackSummary> all = tracker->judge_all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (TrackChange& step : suspected_steps(all[i].points, all[i].judged)) {
                if (step.cause != "code" || gap_of(i, step) || out_of_time()) continue;
                const Confirmation answer = answer_of(i, all[i].series, step);
                if (answer != Confirmation::confirmed) continue;
                step.confirmation = answer;
                tracker->add_step(i, step);
            }
        }
    }

    // Confirmation::none: the two sides could not be measured.
    Confirmation answer_of(std::size_t series, const std::string& name_of_series,
                           TrackChange& change) {
        try {
            const Confirmation answer = ask_directly(specs[series], change);
            say(fmt::format("{}: direct A/B of {} against {}: {}", name_of_series,
                            change.commit.substr(0, 12), change.before.substr(0, 12),
                            name(answer)));
            return answer;
        } catch (const Error& error) {
            if (error.exit_code == kExitInterrupted) throw;
            say(fmt::format("{}: no direct A/B of {}: {}", name_of_series,
                            change.commit.substr(0, 12), error.what()));
            return Confirmation::none;
        }
    }
};

bool tracks_repository(const Arguments& arguments) { return arguments.has("repo"); }

RepositoryTracking::RepositoryTracking(const Arguments& arguments)
    : work_(std::make_unique<Work>(arguments)) {}
RepositoryTracking::~RepositoryTracking() = default;

Tracker& RepositoryTracking::tracker() { return *work_->tracker; }

void RepositoryTracking::run() {
    if (work_->arguments.has("list")) {
        work_->tracker->judge_all();
        return;
    }
    const std::vector<std::size_t> chosen = work_->wanted();
    work_->pin_reference(chosen);
    for (const std::size_t i : from_the_ends(chosen.size())) {
        if (work_->out_of_time()) {
            work_->say("--budget is used up: the same command goes on");
            break;
        }
        work_->visit(chosen[i]);
    }
    work_->narrow();
    work_->confirm();
}

}  // namespace steady
