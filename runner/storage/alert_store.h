// Alerts, stored: gathered from changes, verdicts and failures; delivered by channel; triaged.
// Functions take a transaction and never commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/storage/pqxx.h"
#include "runner/track/alerts.h"

namespace steady::alerts {

struct Wanted {
    bool changes = true, failures = true, verdicts = false;
};

// Makes alerts of what nobody was told yet: changes of level that a direct A/B confirmed (Steady's
// own series have none), failed jobs and verdicts of the last day. A change whose range of commits
// overlaps that of an open alert, in the same direction, joins it.
void gather(pqxx::transaction_base& transaction, const Wanted& wanted);

// The newest first; state: empty means all.
std::vector<Alert> list(pqxx::transaction_base& transaction, const std::string& state, int limit);

// Alerts that this channel has yet to deliver now: new ones, and those whose next attempt is due.
std::vector<Alert> due(pqxx::transaction_base& transaction, const std::string& channel);
// error empty: delivered. Else the next attempt is due after 1, 2, 4 … minutes, at most 8 times.
void keep_attempt(pqxx::transaction_base& transaction, std::int64_t alert,
                  const std::string& channel, const std::string& error);

// The state afterwards; empty: no such alert.
std::string triage(pqxx::transaction_base& transaction, std::int64_t alert,
                   const std::string& state, const std::string& owner, const std::string& note,
                   const std::string& by);

}  // namespace steady::alerts
