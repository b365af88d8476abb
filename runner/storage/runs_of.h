// The runs of questions, from this database and from the records of the checkout that it knows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/record/runs.h"
#include "runner/storage/pqxx.h"

namespace steady::page {

// By question (Record::question_sha), the oldest run first; of a question that was asked more
// often, the newest 200.
std::map<std::string, std::vector<Run>> runs_of(pqxx::transaction_base& transaction,
                                                const std::vector<std::string>& questions);
std::vector<Run> runs_of(pqxx::transaction_base& transaction, const std::string& question);

// Ids of runs of this database that were cancelled or failed and have no entry, the oldest first.
std::vector<std::string> without_verdict_or_entry(pqxx::transaction_base& transaction);

}  // namespace steady::page
