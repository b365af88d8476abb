// One experiment: its page's data, its pairs, its events, two of them side by side.
#include <algorithm>
#include <charconv>
#include <climits>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"
#include "kernels/base/error.h"
#include "runner/record/record_json.h"
#include "runner/record/runs.h"
#include "runner/record/stacks.h"

namespace steady::web {
namespace {

using nlohmann::json;

json side_json(const Record& record) {
    json out = {{"id", record.id},
                {"claim", record.spec.hypothesis.claim},
                {"owner", record.spec.owner},
                {"model", record.spec.subject.model},
                {"state", record.state},
                {"decided_at", record.decided_at},
                {"change", arms_difference(record)},
                {"analysis", record.analysis ? analysis_json(record) : json()}};
    return out;
}

int share_ms(const Record& record) { return record.analysis ? kShareDecided_ms : kShareLists_ms; }

// What forbids a comparison of numbers across two runs: another machine in all but name.
std::vector<std::string> unlike(const Fingerprint& a, const Fingerprint& b) {
    std::vector<std::string> out;
    for (const char* key : {"cpu_model", "cpus", "kernel", "governor"}) {
        const auto in_a = a.find(key), in_b = b.find(key);
        const std::string left = in_a == a.end() ? "" : in_a->second;
        const std::string right = in_b == b.end() ? "" : in_b->second;
        if (left != right) out.emplace_back(key);
    }
    return out;
}

int since(const Request& request) {
    const std::string& text = query(request, "since");
    int value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() &&
        (result.ec != std::errc{} || result.ptr != text.data() + text.size() || value < 0)) {
        throw Error("query parameter since: allowed: the number of pairs already known");
    }
    return value;
}

json events_json(const page::Events& events, const std::string& id, int known) {
    json done = json::array();
    for (const page::PairEvent& pair : events.pairs) {
        done.push_back({{"gate", pair.gate},
                        {"number", pair.number},
                        {"kind", pair.kind},
                        {"discarded", pair.discarded}});
    }
    json progress = json::parse(events.progress, nullptr, false);
    if (!progress.is_object()) progress = nullptr;
    return {{"id", id},
            {"state", events.state},
            {"verdict", events.verdict},
            {"reason", events.reason},
            {"since", known},
            {"next", events.n_pairs},
            {"pairs", std::move(done)},
            {"progress", std::move(progress)}};
}

json deeds_json(const std::vector<page::Deed>& deeds) {
    json out = json::array();
    for (const page::Deed& one : deeds) {
        out.push_back(
            {{"at", one.at}, {"actor", one.actor}, {"what", one.what}, {"detail", one.detail}});
    }
    return out;
}

// Effect and interval so far, as the worker stored them after its latest pair.
json progress_json(const Record& record, Context& context) {
    if (record.analysis || record.state != "running") return json();
    const auto events = context.source->events(record.id, INT_MAX);
    json progress = events ? json::parse(events->progress, nullptr, false) : json();
    return progress.is_object() ? progress : json();
}

}  // namespace

std::optional<Record> find_record(const Request& request, Context& context) {
    return context.source->record(request.params.at("id"));
}

Response no_such_experiment(const Request& request) {
    return error_response(404, "no experiment '" + request.params.at("id") +
                                   "'; allowed: an id, a unique beginning of one, the name in its "
                                   "file, or last");
}

Response get_experiment(const Request& request, Context& context) {
    const auto record = context.source->shown(request.params.at("id"));
    if (!record) return no_such_experiment(request);
    if (request.format != "md") {
        json document = experiment_json(*record);
        document["progress"] = progress_json(*record, context);
        const bool checked = record->analysis && record->checked;
        document["checked"] = checked;
        document["sampled"] = record->sampled;
        document["who_did"] = deeds_json(context.source->who_did(record->id));
        document["runs"] = runs_json(context.source->runs(record->question_sha));
        document["searches"] = json::array();
        for (const bisect::Asked& one : context.source->searches(record->id, "")) {
            document["searches"].push_back(search_json(one));
        }
        return shared_json(document, checked ? kShareDecided_ms : kShareLists_ms);
    }
    if (!record->analysis) return error_response(404, "no entry before a verdict");
    const auto text = context.source->entry(slug_of(record->decided_at, record->id));
    if (!text) return error_response(404, "no entry");
    Response response;
    response.type = "text/markdown";
    response.headers.emplace_back("Cache-Control", "no-store");
    response.body = *text;
    response.share_ms = kShareDecided_ms;
    return response;
}

Response get_record(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    return record ? json_response(json(*record)) : no_such_experiment(request);
}

Response get_flame(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    const auto stacks = context.source->stacks(record->job);
    if (!stacks) {
        return error_response(404,
                              "no sampled stacks: the experiment's file asks for them by "
                              "\"schedule\": {\"profile\": \"frame_pointers\"}");
    }
    return shared_json(flame_json(record->id, stacks_from_text(*stacks)), share_ms(*record));
}

Response get_pairs(const Request& request, Context& context) {
    const auto record = find_record(request, context);
    if (!record) return no_such_experiment(request);
    return shared_json(pairs_json(*record), share_ms(*record));
}

// A stream says only what is new; an answer without news is empty and costs the reader nothing.
Response get_events(const Request& request, Context& context) {
    const std::string& id = request.params.at("id");
    const int known = since(request);
    const std::optional<page::Events> events = context.source->events(id, known);
    if (!events) return no_such_experiment(request);
    const json document = events_json(*events, id, known);
    const bool stream = header(request, "accept").find("text/event-stream") != std::string::npos;
    if (!stream) return json_response(document);
    const bool over = events->state != "running" && events->state != "queued";
    Response response;
    response.type = "text/event-stream";
    response.headers.emplace_back("Cache-Control", "no-store");
    if (events->n_pairs > known || events->state != query(request, "state") || over) {
        response.body = "id: " + std::to_string(events->n_pairs) +
                        "\ndata: " + document.dump(-1, ' ', false, json::error_handler_t::replace) +
                        "\n\n";
    }
    if (over) {
        response.close = true;
        return response;
    }
    response.follow = std::make_shared<Request>(request);
    response.follow->query["since"] = std::to_string(events->n_pairs);
    response.follow->query["state"] = events->state;
    return response;
}

Response get_compare(const Request& request, Context& context) {
    const std::string& both = request.params.at("pair");
    const std::size_t dots = both.find("...");
    if (dots == std::string::npos) throw Error("allowed: /compare/A...B with two ids");
    const auto a = context.source->outline(both.substr(0, dots));
    const auto b = context.source->outline(both.substr(dots + 3));
    if (!a || !b) return error_response(404, "no such experiment on one side of the comparison");
    const Fingerprint none;
    const Fingerprint& left = a->attempts.empty() ? none : a->attempts.back().fingerprint;
    const Fingerprint& right = b->attempts.empty() ? none : b->attempts.back().fingerprint;
    return shared_json({{"a", side_json(*a)},
                        {"b", side_json(*b)},
                        {"environment", fingerprint_difference(left, right)},
                        {"unlike", unlike(left, right)}},
                       std::min(share_ms(*a), share_ms(*b)));
}

}  // namespace steady::web
