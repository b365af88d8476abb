// Regression tracking: the list of series, one series as data, figure and text, and the triage of a
// change. `steady track` stored the judgement.
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"
#include "kernels/base/error.h"
#include "runner/figures/plots.h"
#include "runner/spec/spec.h"

namespace steady::web {
namespace {

using nlohmann::json;

json shift_json(const std::optional<double>& log_units) {
    return log_units ? json(std::expm1(*log_units)) : json();
}

bool differs(const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && a != b;
}

json series_json(const track::Series& series) {
    return {{"name", series.name},
            {"watch", series.watch},
            {"metric", series.metric},
            {"model", series.model},
            {"claim", series.claim},
            {"host", series.host},
            {"forge", series.forge},
            {"noise", series.noise},
            {"repository", series.repository},
            {"branch", series.branch},
            {"reference", series.reference},
            {"unit", series.unit},
            {"source", series.source}};
}

json point_json(const track::StoredPoint& stored) {
    const TrackPoint& point = stored.point;
    return {{"commit", point.commit},
            {"subject", point.subject},
            {"date", point.date},
            {"measured_at", stored.measured_at},
            {"experiment", point.experiment},
            {"ratio", stored.failed.empty() ? json(point.ratio) : json()},
            {"interval", bounds_json(point.interval)},
            {"level", optional_json(stored.level)},
            {"pairs", point.pairs},
            {"champion_ns", point.champion_ns},
            {"reference_ns", point.reference_ns},
            {"failed", stored.failed}};
}

json change_json(const track::Change& one, const std::string& forge) {
    return {{"id", one.id},
            {"commit", one.change.commit},
            {"before", one.change.before},
            {"subject", one.subject},
            {"shift", std::expm1(one.change.shift)},
            {"p", one.change.p},
            {"cause", one.change.cause},
            {"interval", json::array({shift_json(one.change.interval.low),
                                      shift_json(one.change.interval.high)})},
            {"cross_checked", one.change.cross_checked},
            {"confirmation", name(one.change.confirmation)},
            {"confirmed_by", one.change.confirmed_by},
            {"compare", compare_url(forge, one.change.before, one.change.commit)},
            {"found_at", one.found_at},
            {"gone", one.gone},
            {"state", one.state},
            {"owner", one.owner},
            {"note", one.note},
            {"triaged_at", one.triaged_at},
            {"triaged_by", one.triaged_by}};
}

json note_json(const track::Note& one) {
    return {{"id", one.id},     {"commit", one.commit}, {"kind", one.kind},
            {"text", one.text}, {"author", one.author}, {"at", one.at}};
}

json detail_json(const SeriesDetail& detail) {
    json points = json::array(), changes = json::array(), notes = json::array();
    for (const track::StoredPoint& one : detail.points) points.push_back(point_json(one));
    for (const track::Change& one : detail.changes) {
        changes.push_back(change_json(one, detail.series.forge));
    }
    for (const track::Note& one : detail.notes) notes.push_back(note_json(one));
    json searches = json::array();
    for (const bisect::Asked& one : detail.searches) searches.push_back(search_json(one));
    return {{"series", series_json(detail.series)},
            {"points", std::move(points)},
            {"changes", std::move(changes)},
            {"notes", std::move(notes)},
            {"searches", std::move(searches)}};
}

json row_json(const track::SeriesRow& row) {
    json out = series_json(row.series);
    out["points"] = row.points;
    out["failed"] = row.failed;
    out["open_changes"] = row.open_changes;
    out["latest_commit"] = row.latest_commit;
    out["latest_subject"] = row.latest_subject;
    out["latest_at"] = row.latest_at;
    out["ratio"] = optional_json(row.ratio);
    out["level"] = optional_json(row.level);
    out["recent"] = row.recent;
    out["last_shift"] = std::expm1(row.last_shift);
    return out;
}

int limit_in(const Request& request) {
    const std::string& text = query(request, "limit");
    if (text.empty()) return 1000;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 5000) {
        throw Error("query parameter limit: allowed: a whole number from 1 to 5000");
    }
    return value;
}

// The measured points and their levels in the form in which the text and the figure want them.
TrackSummary summary_of(const SeriesDetail& detail) {
    TrackSummary out;
    out.series = detail.series.name;
    out.metric = detail.series.metric;
    out.host = detail.series.host;
    out.forge = detail.series.forge;
    out.judged.noise = detail.series.noise;
    for (const track::StoredPoint& stored : detail.points) {
        if (!stored.failed.empty()) continue;
        out.points.push_back(stored.point);
        out.judged.level.push_back(stored.level.value_or(stored.point.ratio));
    }
    for (const track::Change& one : detail.changes) {
        if (one.gone) continue;
        TrackChange change = one.change;
        change.index = out.points.size();
        for (std::size_t i = 0; i < out.points.size(); ++i) {
            if (out.points[i].commit != change.commit) continue;
            change.index = i;
            break;
        }
        out.judged.changes.push_back(change);
        if (one.state == "new" || one.state == "acknowledged") out.found.push_back(change);
    }
    return out;
}

Response svg_of(const SeriesDetail& detail) {
    const TrackSummary summary = summary_of(detail);
    figures::SeriesPlot plot;
    plot.title = detail.series.name + ", " + detail.series.metric;
    plot.noise = summary.judged.noise;
    for (std::size_t i = 0; i < summary.points.size(); ++i) {
        plot.points.push_back({summary.points[i].ratio, summary.judged.level[i],
                               summary.points[i].commit.substr(0, 10)});
    }
    for (const TrackChange& change : summary.judged.changes) {
        if (change.index < plot.points.size()) plot.changes.push_back({change.index, change.shift});
    }
    Response response;
    response.type = "image/svg+xml";
    response.headers.emplace_back("Cache-Control", "private, max-age=30");
    response.body = figures::document({figures::series_plot(plot)}, "Series " + detail.series.name,
                                      "Speed of each commit's champion against a frozen reference");
    return response;
}

Response no_such_series(const std::string& name) {
    return error_response(404, "no series '" + name + "'; /s lists them");
}

std::string text_member(const json& body, const char* key, std::size_t longest) {
    const auto found = body.find(key);
    if (found == body.end()) return "";
    if (!found->is_string() || found->get_ref<const std::string&>().size() > longest) {
        throw Error(std::string("/") + key + ": allowed: a text of at most " +
                    std::to_string(longest) + " bytes");
    }
    return found->get<std::string>();
}

// "confirmed" and "ignored" are the words of earlier versions.
std::string state_of(const json& body) {
    std::string state = text_member(body, "state", 16);
    if (state == "confirmed") state = "acknowledged";
    if (state == "ignored") state = "wrong";
    if (state != "new" && state != "acknowledged" && state != "fixed" && state != "wrong") {
        throw Error("/state: allowed: new, acknowledged, fixed, wrong");
    }
    return state;
}

std::int64_t number_of(const std::string& id, const char* what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    if (error != std::errc{} || end != id.data() + id.size()) {
        throw Error(std::string(what) + " is named by its number");
    }
    return value;
}

Triage triage_of(const Request& request) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object()) {
        throw Error("the body must be an object {\"state\", \"owner\", \"note\"}");
    }
    for (const auto& [key, value] : body.items()) {
        if (key != "state" && key != "owner" && key != "note") {
            throw Error("/" + key + ": unknown; allowed: state, owner, note");
        }
    }
    Triage out;
    out.state = state_of(body);
    out.owner = text_member(body, "owner", 64);
    out.note = text_member(body, "note", 2000);
    for (const std::string* text : {&out.owner, &out.note}) {
        if (text->find('\0') != std::string::npos) throw Error("a text may hold no NUL character");
    }
    return out;
}

}  // namespace

Response get_series_list(const Request&, Context& context) {
    json rows = json::array();
    for (const track::SeriesRow& row : context.source->series()) rows.push_back(row_json(row));
    return shared_json({{"rows", std::move(rows)}}, kShareLists_ms);
}

Response get_series(const Request& request, Context& context) {
    const std::string& name = request.params.at("name");
    const auto detail = context.source->series_detail(name, limit_in(request));
    if (!detail) return no_such_series(name);
    if (request.format == "svg") return svg_of(*detail);
    if (request.format == "md") {
        Response response;
        response.type = "text/markdown";
        response.headers.emplace_back("Cache-Control", "no-store");
        response.body = track_markdown({summary_of(*detail)});
        return response;
    }
    return shared_json(detail_json(*detail), kShareLists_ms);
}

// Every series keeps its own points; nothing is averaged over machines or benchmarks.
Response get_together(const Request& request, Context& context) {
    constexpr std::size_t kMost = 12;
    std::set<std::string> names;
    std::istringstream all(query(request, "s"));
    for (std::string name; std::getline(all, name, ',');) {
        if (!name.empty()) names.insert(name);
    }
    if (names.empty() || names.size() > kMost) {
        throw Error("query parameter s: found " + std::to_string(names.size()) +
                    " names of series, allowed: 1 to 12 with commas between; /s lists them");
    }
    json list = json::array();
    for (const std::string& name : names) {
        const auto detail = context.source->series_detail(name, limit_in(request));
        if (!detail) return no_such_series(name);
        list.push_back(detail_json(*detail));
    }
    return shared_json({{"list", std::move(list)}}, kShareLists_ms);
}

// Within a series both points were measured against one reference, so their quotient compares them;
// what differs in machine or method is said and not compared.
Response get_revisions(const Request& request, Context& context) {
    const std::string& both = request.params.at("pair");
    const std::size_t dots = both.find("...");
    const std::string a = both.substr(0, dots);
    const std::string b = dots == std::string::npos ? "" : both.substr(dots + 3);
    for (const std::string& one : {a, b}) {
        if (one.size() < 7 || one.size() > 40 ||
            one.find_first_not_of("0123456789abcdef") != std::string::npos) {
            throw Error("allowed: /revisions/A...B with 7 to 40 hex digits of two commits");
        }
    }
    json rows = json::array();
    for (const track::RevisionRow& row : context.source->revisions(a, b)) {
        const double shift = std::log(row.b.ratio / row.a.ratio);
        const double half = 2 * std::sqrt(2.0) * row.series.noise;
        const bool unlike =
            differs(row.a.machine, row.b.machine) || differs(row.a.method, row.b.method);
        rows.push_back({{"series", series_json(row.series)},
                        {"a", {{"commit", row.a.commit}, {"ratio", row.a.ratio}}},
                        {"b", {{"commit", row.b.commit}, {"ratio", row.b.ratio}}},
                        {"change", unlike ? json() : json(std::expm1(shift))},
                        {"interval", unlike ? json::array({nullptr, nullptr})
                                            : json::array({std::expm1(shift - half),
                                                           std::expm1(shift + half)})},
                        {"relevant", !unlike && std::fabs(shift) > std::max(half, 0.005)},
                        {"unlike", unlike}});
    }
    return shared_json({{"a", a}, {"b", b}, {"rows", std::move(rows)}}, kShareLists_ms);
}

Response post_triage(const Request& request, Context& context) {
    Triage wanted = triage_of(request);
    wanted.series = request.params.at("name");
    wanted.change = number_of(request.params.at("change"), "a change");
    const std::string state = context.source->triage(wanted);
    if (state.empty()) {
        return error_response(404, "series '" + wanted.series + "' has no such change");
    }
    return json_response({{"id", wanted.change}, {"state", state}});
}

Response get_alerts(const Request& request, Context& context) {
    const std::string& state = query(request, "state");
    if (!state.empty()) state_of({{"state", state}});
    json rows = json::array();
    for (const alerts::Alert& one : context.source->alerts(state)) {
        rows.push_back(alerts::json(one));
    }
    return shared_json({{"alerts", std::move(rows)}}, kShareLists_ms);
}

Response post_alert(const Request& request, Context& context) {
    Triage wanted = triage_of(request);
    wanted.change = number_of(request.params.at("alert"), "an alert");
    const std::string state = context.source->triage_alert(wanted);
    if (state.empty()) return error_response(404, "no such alert; /alerts lists them");
    return json_response({{"id", wanted.change}, {"state", state}});
}

}  // namespace steady::web
