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

namespace steady {
namespace {

using Points = std::vector<TrackPoint>;

double median_of(const Points& points, std::size_t begin, std::size_t end,
                 double (*value)(const TrackPoint&)) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) values.push_back(value(points[i]));
    return median(values);
}

double log_champion(const TrackPoint& point) { return std::log(point.champion_ns); }
double log_reference(const TrackPoint& point) { return std::log(point.reference_ns); }

bool has_raw_times(const Points& points) {
    return std::all_of(points.begin(), points.end(), [](const TrackPoint& one) {
        return one.champion_ns > 0 && one.reference_ns > 0;
    });
}

// Which side moved by more than half of the shift. A machine that changed moves both, and the ratio
// only by what the two sides feel differently.
std::string cause_of(const Points& points, std::size_t begin, std::size_t at, std::size_t end,
                     double shift) {
    if (points[at].machine != points[at - 1].machine) return "machine";
    if (!has_raw_times(points)) return "code";
    const double reference =
        median_of(points, at, end, log_reference) - median_of(points, begin, at, log_reference);
    const double champion =
        median_of(points, at, end, log_champion) - median_of(points, begin, at, log_champion);
    const bool reference_explains =
        reference * shift > 0 && std::fabs(reference) > std::fabs(shift) / 2;
    return reference_explains && std::fabs(reference) > std::fabs(champion) ? "reference" : "code";
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
    return fmt::format("{} {} at {} ({}; p {:.1g})", change.shift < 0 ? "▼ slower" : "▲ faster",
                       figures::percent(std::expm1(change.shift), 1), range_text(one, change),
                       change.cause, change.p);
}

std::string subject_of(const TrackSummary& one, const TrackChange& change) {
    return change.index < one.points.size() ? one.points[change.index].subject : "";
}

}  // namespace

TrackJudgement judge_track(const std::vector<TrackPoint>& points) {
    TrackJudgement judged;
    if (points.empty()) return judged;
    std::vector<double> ratios;
    for (const TrackPoint& point : points) ratios.push_back(point.ratio);
    const ChangePoints found = robust_change_points(ratios);
    if (points.size() > 1) judged.noise = found.scale;
    std::vector<std::size_t> edges{0};
    edges.insert(edges.end(), found.change_points.begin(), found.change_points.end());
    edges.push_back(points.size());
    for (std::size_t j = 0; j + 1 < edges.size(); ++j) {
        judged.level.insert(judged.level.end(), edges[j + 1] - edges[j],
                            std::exp(found.segment_medians[j]));
    }
    for (std::size_t j = 0; j < found.change_points.size(); ++j) {
        TrackChange change;
        change.index = found.change_points[j];
        change.commit = points[change.index].commit;
        change.before = points[change.index - 1].commit;
        change.shift = found.segment_medians[j + 1] - found.segment_medians[j];
        change.p = found.pvalues[j];
        change.cause = cause_of(points, edges[j], change.index, edges[j + 2], change.shift);
        judged.changes.push_back(change);
    }
    return judged;
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
                           {"cause", change.cause},
                           {"compare", compare_url(one.forge, change.before, change.commit)}});
    }
    return {{"text", text},
            {"series", one.series},
            {"metric", one.metric},
            {"host", one.host},
            {"changes", changes}};
}

}  // namespace steady
