// The functions behind the routes, by file: assets (handlers_static.cpp), health and
// metrics (handlers_health.cpp), pages' data
// (handlers_read.cpp, handlers_experiment.cpp), figures and entries (handlers_figures.cpp),
// series (handlers_track.cpp), notes on them (handlers_notes.cpp), searches for a commit
// (handlers_bisect.cpp), machines (handlers_machines.cpp) and the writes
// (handlers_write.cpp).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dashboard/server/app.h"

namespace steady::web {

// 200 with the document; bytes that are not UTF-8 are replaced.
Response json_response(const nlohmann::json& document, int status = 200);

// The same, which others may share for a while (see Response::share_ms).
Response shared_json(const nlohmann::json& document, int share_ms);
constexpr int kShareLists_ms = 500;
constexpr int kShareSummaries_ms = 5000;  // kernels, owners: dear to make, slow to change
constexpr int kShareDecided_ms = 10000;   // a decided experiment hardly ever changes

// The shell of the page: the same HTML at every address, the view is chosen in the browser.
Response shell_page();

// A search for a commit, as pages show it.
nlohmann::json search_json(const bisect::Asked& one);

// True when this write's token has the scope commands.
bool may_send_commands(Context& context);
// Why nothing may be queued now; nothing: it may.
std::optional<Response> no_room(Context& context);

// The record that {id} names; throws nothing: absent → nullopt, and the caller answers 404.
std::optional<Record> find_record(const Request& request, Context& context);
Response no_such_experiment(const Request& request);

Response get_asset(const Request&, Context&);
Response get_health(const Request&, Context&);
Response get_ready(const Request&, Context&);
Response get_metrics(const Request&, Context&);
Response get_openapi(const Request&, Context&);

Response get_overview(const Request&, Context&);
Response get_experiments(const Request&, Context&);
Response get_queue(const Request&, Context&);
Response get_hosts(const Request&, Context&);
Response get_kernels(const Request&, Context&);
Response get_owners(const Request&, Context&);
Response get_tried(const Request&, Context&);
Response get_submit(const Request&, Context&);
Response get_compare(const Request&, Context&);

Response get_experiment(const Request&, Context&);
Response get_flame(const Request& request, Context& context);
Response get_pairs(const Request&, Context&);
Response get_record(const Request&, Context&);
Response get_figure(const Request&, Context&);
Response get_events(const Request&, Context&);

Response get_journal(const Request&, Context&);
Response get_entry(const Request&, Context&);

Response get_series_list(const Request&, Context&);
Response get_series(const Request&, Context&);
Response get_alerts(const Request&, Context&);
Response get_revisions(const Request&, Context&);
Response get_audits(const Request&, Context&);
Response get_together(const Request&, Context&);
Response get_host(const Request&, Context&);
Response get_workers(const Request&, Context&);
Response get_worker(const Request&, Context&);

Response post_validate(const Request&, Context&);
Response post_submit(const Request&, Context&);
Response post_cancel(const Request&, Context&);
Response post_requeue(const Request&, Context&);
Response post_priority(const Request&, Context&);
Response post_rerun(const Request&, Context&);
Response post_triage(const Request&, Context&);
Response post_alert(const Request&, Context&);
Response get_shipped(const Request&, Context&);
Response post_shipped(const Request&, Context&);
Response post_bisect(const Request&, Context&);
Response post_search_cancel(const Request&, Context&);
Response post_note(const Request&, Context&);
Response post_note_removal(const Request&, Context&);

}  // namespace steady::web
