// What `steady journal --check` looks for beside entries that differ from their records: a run
// whose names are not its content's, a verdict line that claims more than its interval, a default
// whose code is not the code that its verdict measured.
#pragma once

#include <string>
#include <vector>

#include "runner/record/record.h"

namespace steady {

// Empty: id, specification and question agree.
std::string identity_problem(const Record& record);

// Empty: the verdict line of this entry is one that the record's numbers carry.
std::string words_problem(const Record& record, const std::string& entry);

// One line per default that is not tied to its evidence, from `steady-engine defaults`. journal:
// the folder of entries; entries that are missing there are not looked for when it holds none of
// them.
std::vector<std::string> defaults_problems(const std::string& engine, const std::string& journal);

}  // namespace steady
