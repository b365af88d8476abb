// Searches for a commit that the page asked for, stored until a worker has run them. Functions take
// a transaction and never commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/storage/pqxx.h"

namespace steady::bisect {

struct Asked {
    std::int64_t id = 0;
    std::string experiment;  // whose question is asked
    std::string good, bad, asked_by, at;
    bool commands = false;  // for workers that take any command
    std::string state;      // queued, running, done, failed, cancelled
    std::string host;       // empty: nobody took it yet
    std::string outcome, note, culprit, ended_at;
};

struct AskedNow {
    std::int64_t id = 0;
    bool created = false;  // false: the same search is open already
};
// Throws Error when there is no such experiment.
AskedNow ask(pqxx::transaction_base& transaction, const Asked& wanted);

// Of one experiment, of the series with this name, or (both empty) the open ones and the latest; at
// most 50, the newest first.
std::vector<Asked> searches(pqxx::transaction_base& transaction, const std::string& experiment,
                            const std::string& series);

// For a worker on this host with these tags: what it is to run now.
std::optional<Asked> take(pqxx::transaction_base& transaction, const std::string& host,
                          const std::vector<std::string>& tags);
// state, outcome, note and culprit as in `ended`; body: the whole report.
void end(pqxx::transaction_base& transaction, const Asked& ended, const std::string& body);
// Whether it was cancelled meanwhile.
bool is_cancelled(pqxx::transaction_base& transaction, std::int64_t id);

// The state afterwards; empty: no such search.
std::string cancel(pqxx::transaction_base& transaction, std::int64_t id, const std::string& by);

}  // namespace steady::bisect
