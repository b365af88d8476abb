// Records for people elsewhere: a table for a pull request, and the text of `steady show`. The
// verdict comes first, then one number with its interval; what went as expected is only counted.
#pragma once

#include <string>
#include <vector>

#include "runner/record/record.h"

namespace steady {

// Pairs of the full model that count; of a verdict, those that it rests on.
int counted_pairs(const Record& record);

// GitHub-flavoured Markdown: one row per record, gates folded below. For `report --format md`.
std::string report_markdown(const std::vector<Record>& records);
std::string report_markdown(const Record& record);

// The same as plain text, aligned, without control characters. For `report --format text`.
std::string report_text(const std::vector<Record>& records);

// JUnit XML: one test case per record. A regression, a failed guard or a wrong output is a failure;
// what could not be measured is an error; what stayed undecided is skipped. For `--format junit`.
std::string report_junit(const std::vector<Record>& records);

struct ShowOptions {
    bool color = false;  // ANSI colours beside words and arrows, never instead of them
    bool pairs = false;  // every pair, discarded ones with their reason
};

// `steady show ID`: verdict, number, gates, checks that need attention, where to look next. Works
// at any state of the job.
std::string show_text(const Record& record, const ShowOptions& options = {});

// `steady show ID --pairs`: the table of pairs alone.
std::string pairs_text(const Record& record);

}  // namespace steady
