// Data of the list pages. Verdict rows are stored; a page view computes no statistics.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"
#include "kernels/base/error.h"

namespace steady::web {
namespace {

using nlohmann::json;

std::int64_t number_in(const Request& request, const std::string& key, std::int64_t low,
                       std::int64_t high, std::int64_t absent) {
    const std::string& text = query(request, key);
    if (text.empty()) return absent;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
        throw Error("query parameter " + key + ": allowed: a whole number from " +
                    std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
}

std::string word_in(const Request& request, const std::string& key,
                    const std::vector<std::string>& allowed) {
    const std::string& text = query(request, key);
    if (text.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end()) {
        return text;
    }
    std::string list;
    for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
    throw Error("query parameter " + key + ": allowed: " + list);
}

page::ListQuery list_query(const Request& request) {
    page::ListQuery out;
    out.verdict = word_in(request, "verdict", {"accept", "reject", "inconclusive", "invalid"});
    out.state = word_in(request, "state", {"queued", "running", "done", "failed", "cancelled"});
    out.owner = query(request, "owner");
    out.metric = query(request, "metric");
    out.host = query(request, "host");
    out.text = query(request, "q").substr(0, 200);
    out.before = number_in(request, "before", 0, INT64_MAX, 0);
    out.limit = static_cast<int>(number_in(request, "limit", 1, 200, 50));
    out.suite = word_in(request, "suite", {"1"}) == "1";
    return out;
}

json page_json(const page::ListPage& page) {
    json rows = json::array();
    for (const page::ListRow& row : page.rows) rows.push_back(list_row_json(row));
    return {{"rows", std::move(rows)}, {"next", page.next}};
}

json queue_json(const std::vector<page::QueueRow>& queue) {
    json rows = json::array();
    for (const page::QueueRow& row : queue) rows.push_back(queue_row_json(row));
    return rows;
}

json hosts_json(const std::vector<page::HostDetail>& hosts) {
    json rows = json::array();
    for (const page::HostDetail& row : hosts) rows.push_back(host_json(row));
    return rows;
}

json journal_json(const std::vector<page::ListRow>& entries) {
    json rows = json::array();
    for (const page::ListRow& row : entries) rows.push_back(journal_row_json(row));
    return rows;
}

json unknown_json(const search::Findings& found) {
    json words = json::array();
    for (const search::Unknown& one : found.unknown) {
        words.push_back({{"word", one.word}, {"near", one.near}});
    }
    return words;
}

// What stands around every list: the queue and the machines.
std::shared_ptr<const json> around(Context& context) {
    return context.app.part("queue and hosts", kShareLists_ms, [&] {
        return json{{"queue", queue_json(context.source->queue())},
                    {"hosts", hosts_json(context.source->hosts())}};
    });
}

}  // namespace

Response json_response(const json& document, int status) {
    Response response;
    response.status = status;
    response.body = document.dump(-1, ' ', false, json::error_handler_t::replace);
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

Response shared_json(const json& document, int share_ms) {
    Response response = json_response(document);
    response.share_ms = share_ms;
    return response;
}

Response get_overview(const Request& request, Context& context) {
    Source& source = *context.source;
    json out = page_json(source.list(list_query(request)));
    out.update(*around(context));
    return shared_json(out, kShareLists_ms);
}

Response get_experiments(const Request& request, Context& context) {
    return shared_json(page_json(context.source->list(list_query(request))), kShareLists_ms);
}

Response get_queue(const Request&, Context& context) {
    json out = *around(context);
    out["searches"] = json::array();
    for (const bisect::Asked& one : context.source->searches("", "")) {
        out["searches"].push_back(search_json(one));
    }
    return shared_json(out, kShareLists_ms);
}

Response get_hosts(const Request&, Context& context) {
    return shared_json({{"hosts", hosts_json(context.source->hosts())}}, kShareLists_ms);
}

Response get_kernels(const Request&, Context& context) {
    json rows = json::array();
    for (const page::KernelRow& row : context.source->kernels()) {
        rows.push_back({{"op", row.op},
                        {"variant", row.variant},
                        {"model", row.model},
                        {"experiment", row.experiment},
                        {"arm", row.arm},
                        {"at", row.at},
                        {"host", row.host},
                        {"reason", row.reason},
                        {"accepted_by", row.accepted_by},
                        {"calls_per_token", row.calls_per_token},
                        {"ns_per_token", row.ns_per_token},
                        {"bytes_per_token", row.bytes_per_token},
                        {"shapes", row.shapes},
                        {"read_gb_per_s", row.read_gb_per_s}});
    }
    return shared_json({{"rows", std::move(rows)}}, kShareSummaries_ms);
}

Response get_owners(const Request&, Context& context) {
    json rows = json::array();
    for (const page::OwnerRow& row : context.source->owners()) {
        rows.push_back({{"owner", row.owner},
                        {"experiments", row.experiments},
                        {"accepted", row.accepted},
                        {"rejected", row.rejected},
                        {"inside", row.inside},
                        {"above", row.above},
                        {"below", row.below}});
    }
    return shared_json({{"rows", std::move(rows)}}, kShareSummaries_ms);
}

Response get_journal(const Request& request, Context& context) {
    const int limit = static_cast<int>(number_in(request, "limit", 1, 500, 100));
    const std::string words = query(request, "q").substr(0, 200);
    if (words.empty()) {
        return shared_json({{"rows", journal_json(context.source->journal(words, limit))}},
                           kShareLists_ms);
    }
    const search::Findings found = context.source->tried(words, limit, true);
    return shared_json({{"rows", journal_json(found.rows)},
                        {"nearest", found.nearest},
                        {"unknown", unknown_json(found)}},
                       kShareLists_ms);
}

Response get_tried(const Request& request, Context& context) {
    const std::string words = query(request, "q").substr(0, 200);
    const search::Findings found = context.source->tried(words, 100, false);
    json out = page_json({found.rows, 0});
    out["nearest"] = found.nearest;
    out["unknown"] = unknown_json(found);
    return shared_json(out, kShareLists_ms);
}

}  // namespace steady::web
