// Grouping happens here, in the order in which changes were found: the range of an alert shrinks to
// what all its members share.
#include "runner/storage/alert_store.h"

#include <map>

#include "runner/storage/rows.h"

namespace steady::alerts {
namespace {

using rows::text;
using Transaction = pqxx::transaction_base;

constexpr const char* kUntold =
    "select c.change_id, s.repository || ':' || s.branch, c.shift < 0, c.before_sha, c.commit_sha, "
    "(select max(p.position) from steady.series_point p where p.series_id = c.series_id "
    "and p.commit_sha = c.before_sha), (select min(p.position) from steady.series_point p "
    "where p.series_id = c.series_id and p.commit_sha = c.commit_sha) "
    "from steady.series_change c join steady.series s using (series_id) "
    "where not c.gone and c.cause <> 'noise' and c.state = 'new' "
    "and (c.confirmation = 'confirmed' or s.repository = '') "
    "and not exists (select from steady.alert_change a where a.change_id = c.change_id) "
    "order by c.change_id";
constexpr const char* kOverlapping =
    "select alert_id from steady.alert where kind = 'change' and subject = $1 and slower = $2 "
    "and state in ('new', 'acknowledged') and after_position < $4 and position > $3 "
    "order by alert_id limit 1";
constexpr const char* kNewChange =
    "insert into steady.alert (kind, subject, slower, after_position, position, before_sha, "
    "commit_sha) values ('change', $1, $2, $3, $4, $5, $6) returning alert_id";
constexpr const char* kNarrow =
    "update steady.alert set "
    "before_sha = case when $2 > after_position then $4 else before_sha end, "
    "commit_sha = case when $3 < position then $5 else commit_sha end, "
    "after_position = greatest(after_position, $2), position = least(position, $3) "
    "where alert_id = $1";
constexpr const char* kJoin =
    "insert into steady.alert_change (change_id, alert_id) values ($1, $2)";
constexpr const char* kVerdicts =
    "insert into steady.alert (kind, subject) select 'verdict', name from steady.experiment_row "
    "where outcome is not null and decided_at > clock_timestamp() - interval '1 day' "
    "and steady.kind_of(spec_id) = 'question' on conflict do nothing";
constexpr const char* kFailures =
    "insert into steady.alert (kind, subject) select 'failure', name from steady.experiment_row "
    "where state = 'failed' and submitted_at > clock_timestamp() - interval '1 day' "
    "on conflict do nothing";
constexpr const char* kColumns =
    "select a.alert_id, a.kind, a.subject, a.slower, a.before_sha, a.commit_sha, "
    "to_char(a.at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), a.state, a.owner, a.note, "
    "a.triaged_by, e.claim, e.outcome, e.reason, e.note, e.host, "
    "(select string_agg(d.channel || ': ' || case when d.sent_at is not null then 'sent' "
    "else d.attempts || ' failed attempts, ' || d.error end, '; ') from steady.alert_delivery d "
    "where d.alert_id = a.alert_id) from steady.alert a "
    "left join steady.experiment_row e on e.name = a.subject ";
constexpr const char* kMembers =
    "select s.name, s.metric, h.name, s.repository, s.branch, s.forge, c.shift, c.p, c.cause, "
    "c.confirmation, c.confirmed_by, c.gone, s.watch from steady.alert_change m "
    "join steady.series_change c using (change_id) join steady.series s using (series_id) "
    "join steady.host h using (host_id) where m.alert_id = $1 order by abs(c.shift) desc";
constexpr const char* kAttempt =
    "insert into steady.alert_delivery (alert_id, channel, attempts, next_at, sent_at, error) "
    "values ($1, $2, 1, clock_timestamp() + interval '1 minute', "
    "case when $3 = '' then clock_timestamp() end, $3) on conflict (alert_id, channel) do update "
    "set attempts = alert_delivery.attempts + 1, sent_at = excluded.sent_at, "
    "error = excluded.error, "
    "next_at = clock_timestamp() + interval '1 minute' * (2 ^ alert_delivery.attempts)";

void gather_changes(Transaction& transaction) {
    for (const auto& row : transaction.exec(kUntold)) {
        const auto change = row[0].as<std::int64_t>();
        const std::string subject = text(row[1]), before = text(row[3]), commit = text(row[4]);
        const bool slower = row[2].as<bool>();
        if (row[5].is_null() || row[6].is_null()) continue;
        const int after = row[5].as<int>(), position = row[6].as<int>();
        const auto open = transaction.exec_params(kOverlapping, subject, slower, after, position);
        std::int64_t alert = 0;
        if (open.empty()) {
            alert =
                transaction
                    .exec_params1(kNewChange, subject, slower, after, position, before, commit)[0]
                    .as<std::int64_t>();
        } else {
            alert = open[0][0].as<std::int64_t>();
            transaction.exec_params(kNarrow, alert, after, position, before, commit);
        }
        transaction.exec_params(kJoin, change, alert);
    }
}

Alert alert_of(Transaction& transaction, const pqxx::row& row) {
    Alert one;
    one.id = row[0].as<std::int64_t>();
    one.kind = text(row[1]);
    one.subject = text(row[2]);
    one.slower = row[3].as<bool>();
    one.before = text(row[4]);
    one.commit = text(row[5]);
    one.at = text(row[6]);
    one.state = text(row[7]);
    one.owner = text(row[8]);
    one.note = text(row[9]);
    one.triaged_by = text(row[10]);
    one.claim = text(row[11]);
    one.verdict = text(row[12]);
    one.reason = one.kind == "failure" ? text(row[14]) : text(row[13]);
    one.host = text(row[15]);
    one.deliveries = text(row[16]);
    for (const auto& member : transaction.exec_params(kMembers, one.id)) {
        one.members.push_back({.series = text(member[0]),
                               .metric = text(member[1]),
                               .host = text(member[2]),
                               .repository = text(member[3]),
                               .branch = text(member[4]),
                               .forge = text(member[5]),
                               .question = text(member[12]),
                               .shift = member[6].as<double>(),
                               .p = member[7].as<double>(),
                               .cause = text(member[8]),
                               .confirmation = text(member[9]),
                               .confirmed_by = text(member[10]),
                               .gone = member[11].as<bool>()});
    }
    return one;
}

std::vector<Alert> read(Transaction& transaction, const pqxx::result& found) {
    std::vector<Alert> out;
    for (const auto& row : found) out.push_back(alert_of(transaction, row));
    return out;
}

}  // namespace

void gather(Transaction& transaction, const Wanted& wanted) {
    transaction.exec("lock table steady.alert in share row exclusive mode");
    if (wanted.changes) gather_changes(transaction);
    if (wanted.verdicts) transaction.exec(kVerdicts);
    if (wanted.failures) transaction.exec(kFailures);
}

std::vector<Alert> list(Transaction& transaction, const std::string& state, int limit) {
    static const std::string statement = std::string(kColumns) +
                                         "where $1 = '' or a.state = $1 "
                                         "order by a.alert_id desc limit $2";
    return read(transaction, transaction.exec_params(statement, state, limit));
}

std::vector<Alert> due(Transaction& transaction, const std::string& channel) {
    static const std::string statement =
        std::string(kColumns) +
        "left join steady.alert_delivery d on d.alert_id = a.alert_id and d.channel = $1 "
        "where a.state = 'new' and (d.alert_id is null or (d.sent_at is null and d.attempts < 8 "
        "and d.next_at <= clock_timestamp())) order by a.alert_id limit 100";
    return read(transaction, transaction.exec_params(statement, channel));
}

void keep_attempt(Transaction& transaction, std::int64_t alert, const std::string& channel,
                  const std::string& error) {
    transaction.exec_params(kAttempt, alert, channel, error);
}

std::string triage(Transaction& transaction, std::int64_t alert, const std::string& state,
                   const std::string& owner, const std::string& note, const std::string& by) {
    const auto done = transaction.exec_params("select steady.triage_alert($1, $2, $3, $4, $5)",
                                              alert, state, owner, note, by);
    return done.empty() ? "" : text(done[0][0]);
}

}  // namespace steady::alerts
