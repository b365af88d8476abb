// Rows for the page.
#include "runner/storage/dashboard_queries.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/statistics/statistics.h"
#include "runner/storage/dashboard_statements.h"
#include "runner/storage/prepared.h"
#include "runner/storage/rows.h"
#include "runner/storage/search.h"

namespace steady::page {
namespace {

using nlohmann::json;
using rows::text;

std::optional<double> number(const pqxx::field& field) {
    if (field.is_null()) return std::nullopt;
    try {
        return std::stod(field.c_str());
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

int whole(const pqxx::field& field) { return static_cast<int>(number(field).value_or(0)); }

std::optional<double> member(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                       : std::nullopt;
}

Interval interval(const pqxx::field& field) {
    if (field.is_null()) return {};
    const json value = json::parse(field.c_str(), nullptr, false);
    if (value.is_object()) return {member(value, "low"), member(value, "high")};
    Interval out;
    if (value.is_array() && value.size() == 2) {
        if (value[0].is_number()) out.low = value[0].get<double>();
        if (value[1].is_number()) out.high = value[1].get<double>();
    }
    return out;
}

ListRow list_row(const pqxx::row& row) {
    ListRow out;
    out.cursor = row[0].as<std::int64_t>();
    out.id = text(row[1]);
    out.owner = text(row[2]);
    out.claim = text(row[3]);
    out.model = text(row[4]);
    out.state = text(row[5]);
    out.verdict = text(row[6]);
    out.reason = text(row[7]);
    out.sentence = text(row[8]);
    out.metric = text(row[9]);
    out.host = text(row[10]);
    out.prediction = text(row[11]);
    out.effect = number(row[12]);
    out.interval = interval(row[13]);
    out.pairs = whole(row[14]);
    out.pairs_max = row[15].is_null() ? ScheduleSpec{}.pairs_max : whole(row[15]);
    out.submitted_at = text(row[16]);
    out.decided_at = text(row[17]);
    out.note = text(row[18]);
    out.journal_path = text(row[19]);
    return out;
}

std::vector<HostNoise> noise(Transaction& transaction, std::int64_t host) {
    std::vector<HostNoise> out;
    for (const auto& kind : transaction.exec_params(sql::kPageNoise, host)) {
        HostNoise one;
        one.metric = text(kind[0]);
        one.mode = text(kind[1]);
        one.gpu = text(kind[2]);
        std::vector<double> values;
        for (const auto& row :
             transaction.exec_params(sql::kPageNoiseValues, host, one.metric, one.mode, one.gpu)) {
            values.push_back(row[0].as<double>());
            if (one.at.empty()) one.at = text(row[1]);
        }
        one.pairs = static_cast<int>(values.size());
        if (values.size() < 3) continue;  // a spread of two values says nothing
        one.sigma_d = kMadToSigma * mad(values);
        out.push_back(std::move(one));
    }
    return out;
}

std::string reason_of(const json& applied, const std::string& arm, const std::string& op) {
    const json::json_pointer path("/arms/" + arm + "/kernels/" + op + "/reason");
    if (!applied.is_object() || !applied.contains(path)) return {};
    const json& reason = applied.at(path);
    return reason.is_string() ? reason.get<std::string>() : "";
}

std::vector<std::string> shapes_of(const json& applied, const std::string& op) {
    const json::json_pointer path("/op_shapes/" + op);
    std::vector<std::string> shapes;
    if (!applied.is_object() || !applied.contains(path)) return shapes;
    for (const json& shape : applied.at(path)) {
        if (shape.is_string()) shapes.push_back(shape.get<std::string>());
    }
    return shapes;
}

struct Profile {
    std::string experiment, at, host, model;
    json body, applied;
};

// Times on one model say nothing about another.
std::string key_of(const KernelRow& kernel) {
    return kernel.op + "/" + kernel.variant + "/" + kernel.model;
}

// An op that moves more than the memory gives reads from a cache, and its share of the read speed
// says nothing. The same where the GPU did and the speed is the host's, as in records made before
// engines measured the GPU's.
bool exceeds_memory(const KernelRow& kernel) {
    constexpr double kProbeError = 1.1;
    return kernel.bytes_per_token > kProbeError * kernel.read_gb_per_s * kernel.ns_per_token;
}

// Adds what this profile measured and no newer one did.
void add_kernels(const Profile& profile, std::set<std::string>& seen, std::vector<KernelRow>& out) {
    const json arms = profile.body.is_object() ? profile.body.value("arms", json()) : json();
    if (!arms.is_object()) return;
    for (const auto& [arm, rows] : arms.items()) {
        if (!rows.is_array()) continue;
        for (const json& row : rows) {
            KernelRow kernel;
            kernel.op = row.value("op", "");
            kernel.variant = row.value("variant", "");
            kernel.model = profile.model;
            if (!seen.insert(key_of(kernel)).second) continue;
            kernel.experiment = profile.experiment;
            kernel.at = profile.at;
            kernel.host = profile.host;
            kernel.arm = arm;
            kernel.reason = reason_of(profile.applied, arm, kernel.op);
            kernel.shapes = shapes_of(profile.applied, kernel.op);
            kernel.read_gb_per_s = member(profile.body, "read_gb_per_s").value_or(0);
            kernel.calls_per_token = member(row, "calls_per_token").value_or(0);
            kernel.ns_per_token = member(row, "ns_per_token").value_or(0);
            kernel.bytes_per_token = member(row, "bytes_per_token").value_or(0);
            if (exceeds_memory(kernel)) kernel.read_gb_per_s = 0;
            out.push_back(std::move(kernel));
        }
    }
}

}  // namespace

ListPage list(Transaction& transaction, const ListQuery& query) {
    const std::string words = search::query_of(query.text);
    const std::int64_t before = query.before == 0 ? INT64_MAX : query.before;
    pqxx::result rows =
        sql::ask(transaction, sql::kListPage, query.verdict, query.state, query.owner, query.metric,
                 query.host, words, before, query.limit + 1, query.suite);
    if (words.empty() && static_cast<int>(rows.size()) <= query.limit) {
        rows =
            transaction.exec_params(sql::kPageAll, query.verdict, query.state, query.owner,
                                    query.metric, query.host, before, query.limit + 1, query.suite);
    }
    ListPage page;
    for (const auto& row : rows) page.rows.push_back(list_row(row));
    if (static_cast<int>(page.rows.size()) > query.limit) {
        page.rows.pop_back();
        page.next = page.rows.back().cursor;
    }
    return page;
}

std::vector<ListRow> journal(Transaction& transaction, const std::string& words, int limit) {
    std::vector<ListRow> out;
    for (const auto& row :
         transaction.exec_params(sql::kPageDecided, search::query_of(words), limit)) {
        out.push_back(list_row(row));
    }
    return out;
}

std::vector<QueueRow> queue(Transaction& transaction, int limit) {
    std::vector<QueueRow> out;
    for (const auto& row : transaction.exec_params(sql::kPageQueue, limit)) {
        QueueRow one;
        one.id = text(row[0]);
        one.owner = text(row[1]);
        one.claim = text(row[2]);
        one.state = text(row[3]);
        one.host = text(row[4]);
        one.worker = text(row[5]);
        one.note = text(row[6]);
        one.priority = whole(row[7]);
        one.crashes = whole(row[8]);
        one.pairs_done = whole(row[9]);
        one.pairs_max = row[10].is_null() ? ScheduleSpec{}.pairs_max : whole(row[10]);
        one.queued_at = text(row[11]);
        one.began_at = text(row[12]);
        one.lease_until = text(row[13]);
        one.need_tags = rows::texts(row[14]);
        one.cancel_asked = row[15].as<bool>();
        one.progress = text(row[16]);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<HostDetail> hosts(Transaction& transaction) {
    std::vector<HostDetail> out;
    for (const auto& row : transaction.exec(sql::kPageHosts)) {
        HostDetail host;
        host.name = text(row[1]);
        host.seen_at = text(row[2]);
        host.running = text(row[3]);
        host.tags = rows::texts(row[4]);
        host.draining = row[5].as<bool>();
        host.fingerprint = text(row[6]);
        host.noise = noise(transaction, row[0].as<std::int64_t>());
        out.push_back(std::move(host));
    }
    return out;
}

std::vector<KernelRow> kernels(Transaction& transaction) {
    std::vector<KernelRow> out;
    std::set<std::string> seen;
    for (const auto& row : transaction.exec(sql::kPageProfiles)) {
        const Profile profile{text(row[0]),
                              text(row[1]),
                              text(row[2]),
                              text(row[3]),
                              json::parse(text(row[4]), nullptr, false),
                              json::parse(text(row[5]), nullptr, false)};
        add_kernels(profile, seen, out);
    }
    std::map<std::string, std::string> accepted;  // op/variant/model → newest acceptance
    for (const auto& row : transaction.exec(sql::kPageAccepted)) {
        accepted.emplace(text(row[1]) + "/" + text(row[2]) + "/" + text(row[3]), text(row[0]));
    }
    for (KernelRow& kernel : out) {
        const auto found = accepted.find(key_of(kernel));
        if (found != accepted.end()) kernel.accepted_by = found->second;
    }
    return out;
}

std::vector<OwnerRow> owners(Transaction& transaction) {
    std::vector<OwnerRow> out;
    for (const auto& row : transaction.exec(sql::kPageOwners)) {
        out.push_back({text(row[0]), whole(row[1]), whole(row[2]), whole(row[3]), whole(row[4]),
                       whole(row[5]), whole(row[6])});
    }
    return out;
}

int queue_depth(Transaction& transaction) { return whole(transaction.exec1(sql::kPageDepth)[0]); }

std::optional<Events> events(Transaction& transaction, const std::string& id, int since) {
    const auto found = transaction.exec_params(sql::kPageEvents, id);
    if (found.empty()) return std::nullopt;
    Events out;
    out.state = text(found[0][1]);
    out.verdict = text(found[0][2]);
    out.reason = text(found[0][3]);
    out.progress = text(found[0][4]);
    out.n_pairs = whole(found[0][5]);
    if (since >= out.n_pairs) return out;
    for (const auto& row :
         transaction.exec_params(sql::kPagePairEvents, found[0][0].as<std::int64_t>(), since)) {
        out.pairs.push_back({whole(row[0]), whole(row[1]), text(row[2]), text(row[3])});
    }
    return out;
}

}  // namespace steady::page
