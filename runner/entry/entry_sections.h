// The sections of a journal entry, each Markdown with its heading and a closing blank line. Not for
// other folders.
#pragma once

#include <string>
#include <vector>

#include "runner/record/record.h"

namespace steady::entry {

std::string front_matter(const Record& record);
// Of a run that ended without a verdict.
std::string short_head(const Record& record, const std::string& ended_at);
std::string how_it_ended(const Record& record);
std::string question(const Record& record);
std::string hypothesis(const Record& record);
std::string verdict(const Record& record);
std::string sweep(const Record& record);
std::string layout(const Record& record);
std::string gates(const Record& record);
std::string pairs(const Record& record);
std::string placements(const Record& record);  // empty where the record holds none
std::string clocks(const Record& record);      // empty where the record holds none
std::string method(const Record& record);
std::string profile(const Record& record);
std::string checks(const Record& record);
std::string environment(const Record& record);
std::string meaning(const Record& record);
std::string runs(const Record& record);  // empty for a single run
std::string earlier(const Record& record);
std::string repeat(const Record& record);

// | a | b |; cells must be escaped already; the first row is the head.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace steady::entry
