// Statements of searches that were asked for.
#include "runner/storage/bisection_store.h"

#include "kernels/base/error.h"
#include "runner/storage/prepared.h"
#include "runner/storage/rows.h"

namespace steady::bisect {
namespace {

using rows::text;

#define STEADY_ISO(column) \
    "to_char(" column " at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
#define STEADY_ASKED \
    "select b.bisection_id, e.name, b.good, b.bad, b.asked_by, " STEADY_ISO("b.at") ", "  \
    "b.commands, b.state, h.name, b.outcome, b.note, b.culprit, " STEADY_ISO("b.ended_at") \
    " from steady.bisection b join steady.experiment e using (exp_id) "                    \
    "left join steady.host h using (host_id) "

constexpr const char* kAsk =
    "select a.bisection_id, a.found from steady.experiment e, "
    "steady.ask_bisection(e.exp_id, $2, $3, $4, $5) a where e.name = $1";
constexpr const char* kOfSeries = STEADY_ASKED
    "where b.exp_id in (select p.exp_id from steady.series_point p "
    "join steady.series s using (series_id) where s.name = $1) "
    "order by b.bisection_id desc limit 50";
constexpr const char* kLatest =
    STEADY_ASKED "order by b.state in ('queued', 'running') desc, b.bisection_id desc limit 20";
constexpr const char* kOne = STEADY_ASKED "where b.bisection_id = $1";
constexpr const char* kTake = "select bisection_id from steady.take_bisection($1, $2::text[])";
constexpr const char* kEnd = "select steady.end_bisection($1, $2, $3, $4, $5, $6)";
constexpr const char* kCancel = "select state from steady.cancel_bisection($1, $2)";

#undef STEADY_ASKED
#undef STEADY_ISO

Asked asked_of(const pqxx::row& row) {
    Asked out;
    out.id = row[0].as<std::int64_t>();
    out.experiment = text(row[1]);
    out.good = text(row[2]);
    out.bad = text(row[3]);
    out.asked_by = text(row[4]);
    out.at = text(row[5]);
    out.commands = row[6].as<bool>();
    out.state = text(row[7]);
    out.host = text(row[8]);
    out.outcome = text(row[9]);
    out.note = text(row[10]);
    out.culprit = text(row[11]);
    out.ended_at = text(row[12]);
    return out;
}

}  // namespace

AskedNow ask(pqxx::transaction_base& transaction, const Asked& wanted) {
    const auto done = transaction.exec_params(kAsk, wanted.experiment, wanted.good, wanted.bad,
                                              wanted.commands, wanted.asked_by);
    if (done.empty()) throw Error("no experiment '" + wanted.experiment + "'");
    return {.id = done[0][0].as<std::int64_t>(), .created = !done[0][1].as<bool>()};
}

std::vector<Asked> searches(pqxx::transaction_base& transaction, const std::string& experiment,
                            const std::string& series) {
    const auto found = !experiment.empty() ? sql::ask(transaction, sql::kSearchesOf, experiment)
                       : !series.empty()   ? transaction.exec_params(kOfSeries, series)
                                           : transaction.exec(kLatest);
    std::vector<Asked> out;
    for (const auto& row : found) out.push_back(asked_of(row));
    return out;
}

std::optional<Asked> take(pqxx::transaction_base& transaction, const std::string& host,
                          const std::vector<std::string>& tags) {
    const auto taken = transaction.exec_params(kTake, host, rows::array_of(tags));
    if (taken.empty()) return std::nullopt;
    return asked_of(transaction.exec_params1(kOne, taken[0][0].as<std::int64_t>()));
}

void end(pqxx::transaction_base& transaction, const Asked& ended, const std::string& body) {
    transaction.exec_params(kEnd, ended.id, ended.state, ended.outcome, ended.note, ended.culprit,
                            body);
}

bool is_cancelled(pqxx::transaction_base& transaction, std::int64_t id) {
    const auto found = transaction.exec_params(kOne, id);
    return found.empty() || asked_of(found[0]).state == "cancelled";
}

std::string cancel(pqxx::transaction_base& transaction, std::int64_t id, const std::string& by) {
    const auto done = transaction.exec_params(kCancel, id, by);
    return done.empty() ? "" : text(done[0][0]);
}

}  // namespace steady::bisect
