// Rows of 0080_service.sql's functions and views.
#include "runner/storage/service.h"

#include "runner/storage/connection.h"
#include "runner/storage/rows.h"

namespace steady::service {
namespace {

constexpr const char* kAudit =
    "select to_char(at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), login, actor, what, "
    "subject, detail from steady.audit_log where $2 = '' or subject = $2 "
    "order by audit_id desc limit $1";
constexpr const char* kRunningOn =
    "select e.name from steady.job j join steady.experiment e using (exp_id) "
    "where j.host_id = $1 and j.state = 'running' and j.lease_until > clock_timestamp()";
constexpr const char* kUnchecked =
    "select e.name, v.outcome, coalesce(v.reason, ''), v.job_id from steady.verdict v "
    "join steady.job using (job_id) join steady.experiment e using (exp_id) "
    "where not exists (select from steady.verdict_check c where c.job_id = v.job_id) "
    "and ($1 = '' or e.name = $1) "
    "order by v.job_id";
constexpr const char* kMissingEntries =
    "select e.name from steady.verdict v join steady.job using (job_id) "
    "join steady.experiment e using (exp_id) where not exists (select from steady.journal l "
    "where l.job_id = v.job_id and l.kind in ('path', 'no entry')) order by v.job_id";

// The first field of the first row; "" when there is none.
template <typename... Arguments>
std::string one_text(Connection& connection, const char* statement, const Arguments&... arguments) {
    std::string text;
    connection.look([&](Transaction& transaction) {
        const auto found = transaction.exec_params(statement, arguments...);
        text = found.empty() ? "" : rows::text(found[0][0]);
    });
    return text;
}

}  // namespace

State state(Connection& connection) {
    State state;
    connection.transact([&](Transaction& transaction) {
        const auto row = transaction.exec1("select * from steady.service_state()");
        const auto count = [&](int column) { return row[column].as<std::int64_t>(); };
        const auto seconds = [&](int column) { return row[column].as<double>(); };
        state = {.queued = count(0),
                 .running = count(1),
                 .failed = count(2),
                 .oldest_queued_s = seconds(3),
                 .lease_left_s = seconds(4),
                 .lease_overdue_s = seconds(5),
                 .lost_1h = count(6),
                 .crashed_1h = count(7),
                 .failed_1h = count(8),
                 .postponed_1h = count(9),
                 .unchecked_verdicts = count(10),
                 .missing_entries = count(11),
                 .database_bytes = count(12),
                 .replay_lag_s = seconds(13),
                 .connections = count(14),
                 .host_free_bytes = {}};
        if (!row[15].is_null()) state.host_free_bytes = count(15);
    });
    return state;
}

std::map<std::string, std::string> server_settings(Connection& connection) {
    std::map<std::string, std::string> settings;
    connection.transact([&](Transaction& transaction) {
        settings.clear();
        for (const auto& row : transaction.exec(
                 "select name, current_setting(name) from pg_settings where name in ("
                 "'server_version', 'fsync', 'full_page_writes', 'synchronous_commit', "
                 "'autovacuum', 'shared_buffers', 'max_connections')")) {
            settings[row[0].as<std::string>()] = row[1].as<std::string>();
        }
    });
    return settings;
}

void report_host(Connection& connection, std::int64_t host, double free_bytes) {
    connection.transact([&](Transaction& transaction) {
        transaction.exec_params("select steady.report_host($1, $2)", host,
                                static_cast<std::int64_t>(free_bytes));
    });
}

std::string running_on(Connection& connection, std::int64_t host) {
    return one_text(connection, kRunningOn, host);
}

std::string submitter_of(Connection& connection, std::int64_t job) {
    return one_text(connection, "select submitter from steady.job where job_id = $1", job);
}

std::vector<Audit> audit_log(Connection& connection, int limit, const std::string& of) {
    std::vector<Audit> entries;
    connection.transact([&](Transaction& transaction) {
        entries.clear();
        for (const auto& row : transaction.exec_params(kAudit, limit, of)) {
            entries.push_back({rows::text(row[0]), rows::text(row[1]), rows::text(row[2]),
                               rows::text(row[3]), rows::text(row[4]), rows::text(row[5])});
        }
    });
    return entries;
}

bool any_token(Connection& connection) {
    return one_text(connection, "select steady.any_token()") == "t";
}

std::string token_name(Connection& connection, const std::string& sha256) {
    return one_text(connection, "select steady.token_name(decode($1, 'hex'))", sha256);
}

std::vector<Unchecked> unchecked_verdicts(Connection& connection, const std::string& of) {
    std::vector<Unchecked> found;
    connection.transact([&](Transaction& transaction) {
        found.clear();
        for (const auto& row : transaction.exec_params(kUnchecked, of)) {
            found.push_back({rows::text(row[0]), rows::text(row[1]), rows::text(row[2]),
                             row[3].as<std::int64_t>()});
        }
    });
    return found;
}

bool may_check_verdicts(Connection& connection) {
    return one_text(connection,
                    "select has_function_privilege('steady.check_verdict(bigint, text, text)', "
                    "'execute')") == "t";
}

void check_verdict(Connection& connection, std::int64_t job, const std::string& refuted,
                   const std::string& says) {
    connection.transact([&](Transaction& transaction) {
        transaction.exec_params("select steady.check_verdict($1, $2, $3)", job, refuted, says);
    });
}

std::string checked_at(Connection& connection, std::int64_t job) {
    return one_text(connection, "select at::text from steady.verdict_check where job_id = $1", job);
}

void decline_entry(Connection& connection, std::int64_t job) {
    connection.transact([&](Transaction& transaction) {
        transaction.exec_params("select steady.decline_entry($1)", job);
    });
}

std::vector<std::string> missing_entries(Connection& connection) {
    std::vector<std::string> names;
    connection.transact([&](Transaction& transaction) {
        names.clear();
        for (const auto& row : transaction.exec_params(kMissingEntries)) {
            names.push_back(rows::text(row[0]));
        }
    });
    return names;
}

}  // namespace steady::service
