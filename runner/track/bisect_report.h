// What a search for a commit found, for people and programs: text, JSON, journal entry. Rendered
// from the steps alone, so that the same steps always give the same entry.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/record/record.h"
#include "runner/track/bisect.h"

namespace steady::bisect {

// One answered question of the search.
struct Step {
    // ends: the proof that they differ · size: how much · good, bad: a commit against that end ·
    // files: the same files as a commit that was tested · parent: the culprit against its parent
    std::string kind;
    Commit commit;
    std::string against;  // sha
    Side side = Side::unknown;
    // Of the commit relative to the other one, fractions, + is better.
    std::optional<double> effect;
    Interval interval;
    int pairs = 0;
    std::string record, verdict, reason, sentence, decided_at;  // of the experiment; kind files: ""
};

// The step of an experiment; `commit` is the arm that is named so in its record.
Step step_of(const Record& record, const std::string& kind, const Commit& commit,
             const std::string& against, bool commit_is_b);

enum class Outcome {
    found,          // the culprit differs from its parent, too
    not_confirmed,  // it does not, as far as the pairs show
    range,          // only untested commits are left
    too_many_open,  // this machine cannot tell the commits apart
    ends_alike,     // the ends do not differ, or nobody could show it: see the first step
    size_unknown,   // they differ, but no bound on how much is large enough to search with
};
const char* name(Outcome outcome);

struct Found {
    std::string id;            // of the entry
    std::string file, metric;  // the question
    std::string good, bad;     // as asked
    Commit good_commit, bad_commit;
    std::string path;         // how the commits were listed: first-parent, ancestry-path
    std::size_t commits = 0;  // from GOOD, without it, to BAD
    bool gain = false;        // BAD is the better end
    Size size;
    std::vector<Step> steps;
    Outcome outcome = Outcome::ends_alike;
    std::vector<Commit> suspects;  // one, when found or not confirmed
    std::string parent;            // of the only suspect
    std::string host, cpu;
    std::string command;  // asks again
};

// 0 for found; the first step's verdict for ends_alike; else that of inconclusive.
int exit_code(const Found& found);

// "abc123def456 is the first commit that is slower: …", one sentence.
std::string sentence(const Found& found);
std::string text(const Found& found);
nlohmann::json json(const Found& found);

// "journal/2026-11-21-<id>.md"; the date is that of the last step.
std::string entry_path(const Found& found);
std::string entry(const Found& found);

}  // namespace steady::bisect
