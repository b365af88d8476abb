// The search of `steady bisect`: from two commits and a question to the commit that changed a
// metric. Who calls it runs the comparisons: `bisect` here and now, a worker as jobs of the queue.
#pragma once

#include <functional>
#include <string>

#include "runner/record/record.h"
#include "runner/track/bisect_report.h"

namespace steady {

struct SearchInput {
    const Spec* spec = nullptr;  // see check_revision_question
    std::string file;            // its name, for the report
    std::string good, bad;
    bool ancestry_path = false;
    long long attempt = 1;
    // The decided record of a comparison; a finished one may be an earlier search's.
    std::function<Record(const Spec&)> run_step;
    std::function<void(const std::string&)> say;  // one line for people; may be empty
};

// Throws Error when the commits are none of the repository, or in no line.
bisect::Found search_commits(const SearchInput& input);

// Writes the entry under journal/, with the notes of an earlier one; its path from the root.
std::string write_found(const bisect::Found& found);

}  // namespace steady
