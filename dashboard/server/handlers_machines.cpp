// Data about machines: accepts in A/A audits, and how attempts ended. The database counts; the one
// bound computed here is a formula over two counts.
#include <map>
#include <nlohmann/json.hpp>

#include "dashboard/server/handlers.h"
#include "dashboard/server/view_json.h"
#include "runner/statistics/statistics.h"

namespace steady::web {
namespace {

using nlohmann::json;

struct Tally {
    int runs = 0, accepts = 0;
};

// planted-0: of `selftest --runs` with effect 0.
bool nothing_planted(const std::string& spec_id) {
    return spec_id == "a-against-a" || spec_id == "planted-0";
}

json audit_json(const std::vector<page::AuditRow>& rows) {
    std::map<std::string, Tally> by_host;
    for (const page::AuditRow& row : rows) {
        if (!nothing_planted(row.spec_id)) continue;
        by_host[row.host].runs += row.n;
        if (row.verdict == "accept") by_host[row.host].accepts += row.n;
    }
    json out = json::array();
    for (const auto& [host, tally] : by_host) {
        const double bound = clopper_pearson(tally.accepts, tally.runs, 0.95).upper_one_sided;
        out.push_back({{"host", host},
                       {"runs", tally.runs},
                       {"accepts", tally.accepts},
                       {"upper_95", bound}});
    }
    return out;
}

// What each planted difference was found as; a planted slow-down must never be accepted.
json planted_json(const std::vector<page::AuditRow>& rows) {
    json out = json::array();
    for (const page::AuditRow& row : rows) {
        if (nothing_planted(row.spec_id)) continue;
        const bool planted_gain =
            row.spec_id.starts_with("gain-") || row.spec_id.starts_with("planted-");
        const bool wrong = planted_gain ? row.verdict == "reject" : row.verdict == "accept";
        out.push_back({{"host", row.host},
                       {"planted", row.spec_id},
                       {"verdict", row.verdict},
                       {"n", row.n},
                       {"effect", row.effect ? json(*row.effect) : json()},
                       {"wrong", wrong},
                       {"at", row.at}});
    }
    return out;
}

json worker_json(const page::WorkerRow& row) {
    json attempts = json::array();
    for (const page::AttemptRow& one : row.attempts) {
        attempts.push_back({{"experiment", one.experiment},
                            {"claim", one.claim},
                            {"epoch", one.epoch},
                            {"worker", one.worker},
                            {"began", one.began},
                            {"ended", one.ended},
                            {"how", one.how},
                            {"state", one.state}});
    }
    json facts = json::parse(row.fingerprint, nullptr, false);
    if (!facts.is_object()) facts = json::object();
    return {{"host", row.host},
            {"seen_at", row.seen_at},
            {"running", row.running},
            {"worker", row.worker},
            {"tags", row.tags},
            {"lease_until", row.lease_until},
            {"draining", row.draining},
            {"facts", std::move(facts)},
            {"done", row.done},
            {"ended_otherwise", row.ended_otherwise},
            {"attempts", std::move(attempts)}};
}

Response workers_response(const std::vector<page::WorkerRow>& workers) {
    json rows = json::array();
    for (const page::WorkerRow& row : workers) rows.push_back(worker_json(row));
    return shared_json({{"workers", std::move(rows)}}, kShareLists_ms);
}

json noise_run_json(const page::NoiseRun& one) {
    return {{"metric", one.metric},   {"mode", one.mode},
            {"model", one.model},     {"gpu", one.gpu},
            {"at", one.at},           {"pairs", one.pairs},
            {"sigma_d", one.sigma_d}, {"experiment", one.experiment}};
}

}  // namespace

Response get_host(const Request& request, Context& context) {
    const std::string& name = request.params.at("host");
    for (const page::HostDetail& host : context.source->hosts()) {
        if (host.name != name) continue;
        json runs = json::array();
        for (const page::NoiseRun& one : context.source->noise(name)) {
            runs.push_back(noise_run_json(one));
        }
        return shared_json({{"host", host_json(host)}, {"noise_runs", std::move(runs)}},
                           kShareSummaries_ms);
    }
    return error_response(404, "no machine '" + name + "'; /hosts lists them");
}

Response get_audits(const Request&, Context& context) {
    const std::vector<page::AuditRow> rows = context.source->audits();
    json hosts = json::array();
    for (const page::HostDetail& host : context.source->hosts()) hosts.push_back(host_json(host));
    return shared_json({{"audits", audit_json(rows)},
                        {"planted", planted_json(rows)},
                        {"hosts", std::move(hosts)}},
                       kShareSummaries_ms);
}

Response get_workers(const Request&, Context& context) {
    return workers_response(context.source->workers("", 5));
}

Response get_worker(const Request& request, Context& context) {
    const std::string& name = request.params.at("host");
    const auto found = context.source->workers(name, 100);
    if (found.empty()) return error_response(404, "no machine '" + name + "'; /w lists them");
    return workers_response(found);
}

}  // namespace steady::web
