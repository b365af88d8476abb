// Judges a history: names the detector's change points, their neighbouring commits and a probable
// cause.
#include "runner/track/track.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/base/pattern.h"
#include "runner/figures/numbers.h"
#include "runner/statistics/change_points.h"
#include "runner/statistics/level_shift.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {
namespace {

using Points = std::vector<TrackPoint>;

constexpr std::size_t kCrossChecked = 400;  // latest points: E-Divisive takes quadratic time
constexpr double kExactScale = 0.001;       // a fifth of the smallest change of level

bool measured_sides(const TrackPoint& point) {
    return point.champion_ns > 0 && point.reference_ns > 0;
}

double median_of(const Points& points, std::size_t begin, std::size_t end,
                 double (*value)(const TrackPoint&)) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) {
        if (measured_sides(points[i])) values.push_back(value(points[i]));
    }
    return median(values);
}

double log_champion(const TrackPoint& point) { return std::log(point.champion_ns); }
double log_reference(const TrackPoint& point) { return std::log(point.reference_ns); }

bool has_raw_times(const Points& points, std::size_t begin, std::size_t end) {
    return std::any_of(points.begin() + static_cast<std::ptrdiff_t>(begin),
                       points.begin() + static_cast<std::ptrdiff_t>(end), measured_sides);
}

// A commit with the very files of the reference has no facts of a measurement.
bool differ(const std::string& before, const std::string& after) {
    return !before.empty() && !after.empty() && before != after;
}

// Which side moved by more than half of the shift. A machine that changed moves both, and the ratio
// only by what the two sides feel differently.
std::string cause_of(const Points& points, std::size_t begin, std::size_t at, std::size_t end,
                     double shift) {
    if (differ(points[at - 1].machine, points[at].machine)) return "hardware";
    if (differ(points[at - 1].method, points[at].method)) return "method";
    if (!has_raw_times(points, begin, at) || !has_raw_times(points, at, end)) return "code";
    const double reference =
        median_of(points, at, end, log_reference) - median_of(points, begin, at, log_reference);
    const double champion =
        median_of(points, at, end, log_champion) - median_of(points, begin, at, log_champion);
    const bool reference_explains =
        reference * shift > 0 && std::fabs(reference) > std::fabs(shift) / 2;
    if (!reference_explains || std::fabs(reference) <= std::fabs(champion)) return "code";
    // The very same reference, built and asked in the same way, ran at another speed.
    return points[at].method.empty() ? "method" : "hardware";
}

constexpr std::size_t kSamePlace = 3;    // points; where both detectors see the same change
constexpr double kSmallestStep = 0.005;  // log units, as the detector's smallest change
constexpr double kStepNoises = 3;        // a step is at least so many times the noise of a point,
constexpr std::size_t kKnownNoise = 12;  // where as many points tell that noise

bool near(std::size_t a, std::size_t b) { return std::max(a, b) - std::min(a, b) <= kSamePlace; }

// Where segments begin, with 0 and the end: what the detector found and what was confirmed. A
// confirmed step that it did not find stands for the nearest that it found beside it.
std::vector<std::size_t> edges_of(const Points& points, std::vector<std::size_t> edges,
                                  const std::vector<ConfirmedStep>& confirmed) {
    std::vector<std::size_t> steps;
    for (const ConfirmedStep& step : confirmed) {
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (points[i].commit == step.commit && points[i - 1].commit == step.before)
                steps.push_back(i);
        }
    }
    const auto in = [](const std::vector<std::size_t>& all, std::size_t one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (const std::size_t step : steps) {
        if (in(edges, step)) continue;
        const auto nearest = std::min_element(edges.begin(), edges.end(), [&](auto a, auto b) {
            return std::max(a, step) - std::min(a, step) < std::max(b, step) - std::min(b, step);
        });
        if (nearest != edges.end() && near(*nearest, step) && !in(steps, *nearest))
            edges.erase(nearest);
        edges.push_back(step);
    }
    edges.insert(edges.end(), {0, points.size()});
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

// As the detector tests its points; 1 where every value is the same.
double rank_sum_p(Values left, Values right) {
    const double p = mann_whitney(left, right, true, "asymptotic").p_two;
    return std::isfinite(p) ? p : 1;
}

// The very files of the reference have the ratio 1 without an interval.
bool intervals_meet(const TrackPoint& a, const TrackPoint& b) {
    const double a_low = a.interval.low.value_or(a.ratio),
                 a_high = a.interval.high.value_or(a.ratio),
                 b_low = b.interval.low.value_or(b.ratio),
                 b_high = b.interval.high.value_or(b.ratio);
    return a_low <= b_high && b_low <= a_high;
}

void cross_check(const std::vector<double>& logs, TrackJudgement& judged) {
    const std::size_t skipped = logs.size() - std::min(logs.size(), kCrossChecked);
    std::vector<bool> matched;
    const std::vector<std::size_t> others = edivisive(Values(logs).subspan(skipped));
    matched.resize(others.size(), false);
    for (TrackChange& change : judged.changes) {
        for (std::size_t i = 0; i < others.size(); ++i) {
            const std::size_t at = others[i] + skipped;
            if (!near(at, change.index)) continue;
            change.cross_checked = matched[i] = true;
        }
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!matched[i]) judged.only_cross_check.push_back(others[i] + skipped);
    }
}

std::string short_commit(const std::string& commit) { return commit.substr(0, 10); }

// Text of others inside a Markdown table: no cell, link, emphasis, tag or mention may begin in it.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) {
            out += ' ';
        } else if (std::string_view("\\`*_{}[]()<>#+!|~@&:").find(c) != std::string_view::npos) {
            out += fmt::format("&#{};", static_cast<int>(static_cast<unsigned char>(c)));
        } else {
            out += c;
        }
    }
    return out;
}

std::string range_text(const TrackSummary& one, const TrackChange& change) {
    const std::string words =
        fmt::format("{}…{}", short_commit(change.before), short_commit(change.commit));
    const std::string url = compare_url(one.forge, change.before, change.commit);
    return url.empty() ? "`" + words + "`" : fmt::format("[`{}`]({})", words, url);
}

std::string change_text(const TrackSummary& one, const TrackChange& change) {
    std::string checks = fmt::format("p {:.1g}", change.p);
    if (change.confirmation != Confirmation::none) {
        checks += fmt::format("; direct A/B: {}", name(change.confirmation));
    }
    if (!change.cross_checked) checks += "; not found by E-Divisive";
    return fmt::format("{} {} at {} ({}; {})", change.shift < 0 ? "▼ slower" : "▲ faster",
                       figures::percent(std::expm1(change.shift), 1), range_text(one, change),
                       change.cause, checks);
}

nlohmann::json interval_of(const Interval& interval) {
    nlohmann::json out = nlohmann::json::array();
    for (const std::optional<double>& end : {interval.low, interval.high}) {
        out.push_back(end ? nlohmann::json(std::expm1(*end)) : nlohmann::json());
    }
    return out;
}

std::string subject_of(const TrackSummary& one, const TrackChange& change) {
    return change.index < one.points.size() ? one.points[change.index].subject : "";
}

}  // namespace

const char* name(Confirmation confirmation) {
    switch (confirmation) {
        case Confirmation::none:
            return "";
        case Confirmation::confirmed:
            return "confirmed";
        case Confirmation::refuted:
            return "refuted";
        case Confirmation::open:
            return "open";
    }
    return "";
}

Confirmation confirmation_of(const std::string& text) {
    for (const Confirmation one :
         {Confirmation::confirmed, Confirmation::refuted, Confirmation::open}) {
        if (text == name(one)) return one;
    }
    return Confirmation::none;
}

TrackJudgement judge_track(const std::vector<TrackPoint>& points,
                           const std::vector<ConfirmedStep>& confirmed) {
    TrackJudgement judged;
    if (points.empty()) return judged;
    std::vector<double> ratios, logs;
    for (const TrackPoint& point : points) ratios.push_back(point.ratio);
    for (const double ratio : ratios) logs.push_back(std::log(ratio));
    ChangePointOptions options;
    options.exact_scale = kExactScale;
    const ChangePoints found = robust_change_points(ratios, options);
    if (points.size() > 1) judged.noise = found.scale;
    const std::vector<std::size_t> edges = edges_of(points, found.change_points, confirmed);
    const Values all(logs);
    for (std::size_t j = 0; j + 1 < edges.size(); ++j) {
        const double level = median(all.subspan(edges[j], edges[j + 1] - edges[j]));
        judged.level.insert(judged.level.end(), edges[j + 1] - edges[j], std::exp(level));
    }
    for (std::size_t j = 1; j + 1 < edges.size(); ++j) {
        const Values left = all.subspan(edges[j - 1], edges[j] - edges[j - 1]),
                     right = all.subspan(edges[j], edges[j + 1] - edges[j]);
        TrackChange change;
        change.index = edges[j];
        change.commit = points[change.index].commit;
        change.before = points[change.index - 1].commit;
        change.shift = median(right) - median(left);
        change.p = rank_sum_p(left, right);
        const LevelShift shift = level_shift(left, right);
        change.interval = {shift.low, shift.high};
        change.cause = cause_of(points, edges[j - 1], change.index, edges[j + 1], change.shift);
        judged.changes.push_back(change);
    }
    cross_check(logs, judged);
    return judged;
}

std::vector<TrackChange> suspected_steps(const std::vector<TrackPoint>& points,
                                         const TrackJudgement& judged) {
    std::vector<TrackChange> out;
    for (std::size_t i = 1; i < points.size(); ++i) {
        const double shift = std::log(points[i].ratio / points[i - 1].ratio);
        const double least = std::max(kSmallestStep, kStepNoises * judged.noise);
        const bool small = judged.noise > 0 && points.size() >= kKnownNoise
                               ? std::fabs(shift) < least
                               : std::fabs(shift) < kSmallestStep;
        const bool known = std::any_of(
            judged.changes.begin(), judged.changes.end(),
            [&](const TrackChange& one) { return near(one.index, i) && one.shift * shift > 0; });
        if (small || known || intervals_meet(points[i - 1], points[i])) continue;
        TrackChange step;
        step.index = i;
        step.commit = points[i].commit;
        step.before = points[i - 1].commit;
        step.shift = shift;
        step.cause = cause_of(points, i - 1, i, i + 1, shift);
        out.push_back(step);
    }
    return out;
}

std::vector<TrackChange> places_beside(const std::vector<TrackPoint>& points,
                                       const TrackChange& change) {
    std::vector<TrackChange> out;
    for (std::size_t far = 1; far <= kSamePlace; ++far) {
        for (const std::size_t i : {change.index - far, change.index + far}) {
            if (i == 0 || i >= points.size()) continue;  // below 0: wraps, and is too large
            TrackChange& place = out.emplace_back(change);
            place.index = i;
            place.commit = points[i].commit;
            place.before = points[i - 1].commit;
        }
    }
    return out;
}

void without_control(TrackJudgement& judged) {
    for (TrackChange& change : judged.changes) {
        if (change.cause == "code") change.cause = "unknown";
    }
}

std::string forge_url(const std::string& remote) {
    static const Pattern address(
        R"re((?:https?|ssh|git)://(?:[^@/]*@)?([A-Za-z0-9.-]+)(?::\d+)?/([A-Za-z0-9._~/-]+?)(?:\.git)?/?)re");
    static const Pattern scp(
        R"re((?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):([A-Za-z0-9._~-][A-Za-z0-9._~/-]*?)(?:\.git)?/?)re");
    auto parts = address.match(remote);
    if (!parts) parts = scp.match(remote);
    return parts ? fmt::format("https://{}/{}", parts->at(1), parts->at(2)) : "";
}

std::string compare_url(const std::string& forge, const std::string& before,
                        const std::string& after) {
    if (forge.empty()) return "";
    return fmt::format("{}/compare/{}...{}", forge, before, after);
}

std::string track_markdown(const std::vector<TrackSummary>& all) {
    std::string out =
        "### Steady: champion against the frozen reference\n\n"
        "| series | latest commit | × reference | against its level | changes |\n"
        "| --- | --- | ---: | ---: | --- |\n";
    std::string news;
    for (const TrackSummary& one : all) {
        if (one.points.empty()) {
            out += fmt::format("| {} | – | – | – | nothing measured |\n", escaped(one.series));
            continue;
        }
        const TrackPoint& last = one.points.back();
        const double against = std::log(last.ratio / one.judged.level.back());
        const bool inside = std::fabs(against) <= 2 * one.judged.noise;
        out += fmt::format(
            "| {} | `{}` {} | {:.3f} | {}{} | {} |\n", escaped(one.series),
            short_commit(last.commit), escaped(last.subject), last.ratio,
            inside        ? "~ "
            : against < 0 ? "▼ "
                          : "▲ ",
            figures::percent(std::expm1(against), 1),
            one.judged.changes.empty() ? "none" : std::to_string(one.judged.changes.size()));
        for (const TrackChange& change : one.found) {
            news += fmt::format("- **{}**: {} {}\n", escaped(one.series), change_text(one, change),
                                escaped(subject_of(one, change)));
        }
    }
    return out +
           (news.empty() ? "\nNo new change of level.\n" : "\nNew changes of level:\n\n" + news);
}

nlohmann::json track_alert(const TrackSummary& one) {
    nlohmann::json changes = nlohmann::json::array();
    std::string text = fmt::format("{} on {}:", one.series, one.host);
    for (const TrackChange& change : one.found) {
        text += fmt::format(" {} {} since {} ({})", change.shift < 0 ? "slower" : "faster",
                            figures::percent(std::expm1(change.shift), 1),
                            short_commit(change.commit), change.cause);
        changes.push_back({{"commit", change.commit},
                           {"before", change.before},
                           {"subject", subject_of(one, change)},
                           {"shift", std::expm1(change.shift)},
                           {"p", change.p},
                           {"interval", interval_of(change.interval)},
                           {"cause", change.cause},
                           {"confirmation", name(change.confirmation)},
                           {"confirmed_by", change.confirmed_by},
                           {"cross_checked", change.cross_checked},
                           {"compare", compare_url(one.forge, change.before, change.commit)}});
    }
    return {{"text", text},
            {"series", one.series},
            {"metric", one.metric},
            {"host", one.host},
            {"changes", changes}};
}

}  // namespace steady
