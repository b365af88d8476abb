// Rows about machines.
#include "runner/storage/page_machines.h"

#include "runner/statistics/statistics.h"
#include "runner/storage/prepared.h"
#include "runner/storage/rows.h"

namespace steady::page {
namespace {

using rows::text;

#define STEADY_ISO(column) \
    "to_char(" column " at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

constexpr const char* kAudits =
    // The runs of `selftest --runs` differ in their seed: planted-<hundredths of a percent>-<seed>.
    "select coalesce(h.name, p.name), regexp_replace(e.spec_id, '^(planted-[0-9]+)-[0-9]+$', '\\1'), "
    "v.outcome, count(*), "
    "avg(v.effect::float8), " STEADY_ISO("max(v.at)")
    " from steady.experiment e join steady.job j using (exp_id) join steady.verdict v using (job_id) "
    "left join steady.host h on h.host_id = j.host_id left join steady.host p on p.host_id = "
    "j.pin_host where e.kind = 'selftest' "
    "group by 1, 2, 3 order by 1, 2, 3";
constexpr const char* kWorkers =
    "select h.host_id, h.name, " STEADY_ISO("h.seen_at") ", h.tags, h.draining, e.name, "
    "j.worker::text, " STEADY_ISO("j.lease_until") ", (select a.fingerprint from steady.attempt a "
    "where a.host_id = h.host_id and a.fingerprint is not null order by a.began desc limit 1), "
    "t.done, t.other from steady.host h "
    "left join steady.job j on j.host_id = h.host_id and j.state = 'running' "
    "left join steady.experiment e using (exp_id) left join lateral "
    "(select count(*) filter (where how = 'done') as done, count(*) filter (where how is not null "
    "and how <> 'done') as other from (select how from steady.attempt a where a.host_id = "
    "h.host_id order by a.began desc limit 200) latest) t on true "
    "where $1 = '' or h.name = $1 order by h.seen_at desc limit 100";
constexpr const char* kAttempts =
    "select e.name, e.claim, a.worker::text, " STEADY_ISO("a.began") ", "
    STEADY_ISO("a.ended") ", a.how, j.state, a.epoch from steady.attempt a "
    "join steady.job j using (job_id) join steady.experiment e using (exp_id) "
    "where a.host_id = $1 order by a.began desc limit $2";

constexpr const char* kNoiseRuns =
    "select a.metric, a.mode, a.model, a.gpu, e.name, " STEADY_ISO("min(a.at)") ", array_agg(a.d)::text "
    "from (select * from steady.aa_value where host_id = (select host_id from steady.host "
    "where name = $1) order by at desc limit 20000) a join steady.job j using (job_id) "
    "join steady.experiment e using (exp_id) group by a.job_id, e.name, a.metric, a.mode, a.model, a.gpu "
    "having count(*) > 2 order by min(a.at)";

#undef STEADY_ISO

}  // namespace

std::vector<Deed> who_did(Transaction& transaction, const std::string& experiment) {
    std::vector<Deed> out;
    for (const auto& row : sql::ask(transaction, sql::kWhoDid, experiment)) {
        out.push_back({text(row[0]), text(row[1]), text(row[2]), text(row[3])});
    }
    return out;
}

std::vector<AuditRow> audits(Transaction& transaction) {
    std::vector<AuditRow> out;
    for (const auto& row : transaction.exec(kAudits)) {
        AuditRow one;
        one.host = text(row[0]);
        one.spec_id = text(row[1]);
        one.verdict = text(row[2]);
        one.n = row[3].as<int>();
        if (!row[4].is_null()) one.effect = row[4].as<double>();
        one.at = text(row[5]);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<NoiseRun> noise_runs(Transaction& transaction, const std::string& host) {
    std::vector<NoiseRun> out;
    for (const auto& row : transaction.exec_params(kNoiseRuns, host)) {
        NoiseRun one{.metric = text(row[0]),
                     .mode = text(row[1]),
                     .model = text(row[2]),
                     .gpu = text(row[3]),
                     .experiment = text(row[4]),
                     .at = text(row[5])};
        std::vector<double> values;
        for (const std::string& value : rows::texts(row[6])) values.push_back(std::stod(value));
        one.pairs = static_cast<int>(values.size());
        one.sigma_d = kMadToSigma * mad(values);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<WorkerRow> workers(Transaction& transaction, const std::string& host, int limit) {
    std::vector<WorkerRow> out;
    for (const auto& row : transaction.exec_params(kWorkers, host)) {
        WorkerRow one;
        one.host = text(row[1]);
        one.seen_at = text(row[2]);
        one.tags = rows::texts(row[3]);
        one.draining = row[4].as<bool>();
        one.running = text(row[5]);
        one.worker = text(row[6]);
        one.lease_until = text(row[7]);
        one.fingerprint = text(row[8]);
        one.done = row[9].as<int>();
        one.ended_otherwise = row[10].as<int>();
        for (const auto& attempt :
             transaction.exec_params(kAttempts, row[0].as<std::int64_t>(), limit)) {
            one.attempts.push_back({text(attempt[0]), text(attempt[1]), text(attempt[2]),
                                    text(attempt[3]), text(attempt[4]), text(attempt[5]),
                                    text(attempt[6]), attempt[7].as<int>()});
        }
        out.push_back(std::move(one));
    }
    return out;
}

}  // namespace steady::page
