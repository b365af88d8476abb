// What those need who run Steady as a service: how it stands, who did what, which verdicts nobody
// has checked yet, whose entries are missing. Each function is one transaction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steady {
class Connection;
}

namespace steady::service {

// For health and metrics: one answer of service_state().
struct State {
    std::int64_t queued = 0, running = 0, failed = 0;
    double oldest_queued_s = 0;  // of what could run now
    double lease_left_s = 0;     // of the running job that is nearest to losing it
    double lease_overdue_s = 0;  // a lease that nobody has rescued yet
    std::int64_t lost_1h = 0, crashed_1h = 0, failed_1h = 0, postponed_1h = 0;  // attempts
    std::int64_t unchecked_verdicts = 0, missing_entries = 0;
    std::int64_t database_bytes = 0;
    double replay_lag_s = 0;  // of a replica behind its primary
    std::int64_t connections = 0;
    std::optional<std::int64_t> host_free_bytes;  // the fullest disk of a worker seen today
};
State state(Connection& connection);

// What the server runs with that decides about safety and speed, e.g. {"fsync", "on"}; readable by
// every role.
std::map<std::string, std::string> server_settings(Connection& connection);

// A worker's disk, as it found it.
void report_host(Connection& connection, std::int64_t host, double free_bytes);

// The experiment that a worker of this host holds by a lease that stands; empty: none.
std::string running_on(Connection& connection, std::int64_t host);

// Who submitted a job: a token's name, a person, a login.
std::string submitter_of(Connection& connection, std::int64_t job);

// --- who did what (owner) ---
struct Audit {
    std::string at, login, actor, what, subject, detail;
};
// Newest first; of: only about this experiment or token, empty for all.
std::vector<Audit> audit_log(Connection& connection, int limit, const std::string& of);

// --- tokens, for those who may not read them ---
bool any_token(Connection& connection);
std::string token_name(Connection& connection, const std::string& sha256);

// --- verdicts that nobody but their worker has computed (checked by the owner) ---
struct Unchecked {
    std::string id, outcome, reason;
    std::int64_t job = 0;
};
// of: only this experiment's; empty: all.
std::vector<Unchecked> unchecked_verdicts(Connection& connection, const std::string& of = {});
// refuted: what the samples give instead; the verdict then leaves the record for its evidence, and
// the job counts as failed. Empty: they agree, and says adds what is worth knowing.
void check_verdict(Connection& connection, std::int64_t job, const std::string& refuted,
                   const std::string& says);
bool may_check_verdicts(Connection& connection);  // this login is the owner's
// "" while nobody has checked the verdict; else when.
std::string checked_at(Connection& connection, std::int64_t job);

// --- entries ---
void decline_entry(Connection& connection, std::int64_t job);  // this experiment shall have none
// Decided experiments without an entry that have not declined one, oldest first.
std::vector<std::string> missing_entries(Connection& connection);

}  // namespace steady::service
