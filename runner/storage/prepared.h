// Statements that the page asks all the time, prepared once per connection: to parse them takes a
// quarter of PostgreSQL's time for an experiment. Only where nothing stands between us and the
// server, since a pooler may hand out another connection each time.
#pragma once

#include <array>

#include "runner/storage/pqxx.h"

namespace steady::sql {

struct Statement {
    const char *name, *text;
};

inline constexpr Statement kRecord{"steady_record", "select * from steady.read_record($1)"};
inline constexpr Statement kPairs{"steady_pairs", "select * from steady.paired_samples($1, $2)"};
inline constexpr Statement kRuns{"steady_runs", "select * from steady.runs_of($1, $2)"};
inline constexpr Statement kWhoDid{
    "steady_who_did",
    "select to_char(at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), actor, what, detail "
    "from steady.who_did($1)"};
inline constexpr Statement kSearchesOf{"steady_searches", "select * from steady.bisections_of($1)"};
inline constexpr Statement kListPage{
    "steady_list_page", "select * from steady.list_page($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
inline constexpr std::array kPrepared{kRecord, kPairs, kRuns, kWhoDid, kSearchesOf, kListPage};

// The name of transactions on a connection that has them prepared.
inline constexpr const char* kWithPrepared = "with_prepared";

template <class... Arguments>
pqxx::result ask(pqxx::transaction_base& transaction, const Statement& one,
                 const Arguments&... arguments) {
    if (transaction.name() != kWithPrepared) return transaction.exec_params(one.text, arguments...);
    return transaction.exec_prepared(one.name, arguments...);
}

}  // namespace steady::sql
