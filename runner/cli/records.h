// What several verbs do with records: open the store, judge stored samples again, write an entry.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "runner/cli/command_line.h"
#include "runner/record/record.h"
#include "runner/record/runs.h"
#include "runner/storage/search.h"
#include "runner/storage/service.h"
#include "runner/storage/store.h"

namespace steady {

// --db, STEADY_DATABASE_URL or the private database; migrated. Asked again within 30 s the answer
// is the same: a command opens several stores, and each look takes two connections.
std::string command_database(const Arguments& arguments);

// A connection of its own to command_database().
Store open_store(const Arguments& arguments, DatabaseRole role = DatabaseRole::owner);

// The analysis of a record's stored samples; finished: no more pairs will come.
Analysis judge_again(const Record& record, bool finished = true);

// What `run --json` and `show --json` print: show_json() with what rendering computes: the sentence
// of the entry, machine_state, placements and clocks (null where records cannot tell).
nlohmann::json shown_json(const Record& record);

// Why this record's samples cannot be judged again: retention removed them. Empty: they can.
std::string missing_samples(Store& store, const Record& record);

// What differs between the machines and programs that measured last: key → (a's, b's), "" for
// absent.
std::map<std::string, std::pair<std::string, std::string>> machine_differences(const Record& a,
                                                                               const Record& b);

// What earlier attempts at the same question add to a new one on this machine with these programs;
// ids: the attempts that count. An A/A run asks nothing, so it has none.
struct EarlierAttempts {
    std::vector<std::string> ids;
    double log_e_accept = 0, log_e_reject = 0;
};
enum class TakeFrom {
    analyses,
    samples
};  // what is stored of an attempt, or what it was made from
EarlierAttempts earlier_attempts(Store& store, const Spec& spec,
                                 const std::vector<std::string>& ids, const std::string& host,
                                 const Fingerprint& here, TakeFrom from = TakeFrom::analyses);

// A fact of a fingerprint; empty: it is not known.
const std::string& fact(const Fingerprint& print, const std::string& name);

// The owner's side of a verdict: computed again from the stored samples, since whoever measured may
// have stored any, and any evidence of earlier attempts. What they give instead when they refute it
// (the record then has no verdict any more), else empty.
std::string check_verdict(Store& store, const service::Unchecked& verdict);

struct VerdictRefuted : Error {
    explicit VerdictRefuted(const std::string& what) : Error(what, kExitInternal) {}
};

// After a verdict: checked, where this login may, and its entry written or declined. Throws
// VerdictRefuted, or Error when the entry cannot be written.
void settle_record(Store& store, Record& record, bool with_entry);

// Entries of decided experiments that were never written; host: only those measured there last.
// Returns their paths.
std::vector<std::string> write_missing_entries(Store& store, const std::string& host = {});

// The records of this checkout, for the search: afterwards they are found beside what was run here.
void learn_shipped(Store& store);

// Earlier attempts; see search.h.
search::Findings find_tried(Store& store, const std::string& words, bool decided_only = false);
nlohmann::json findings_json(const search::Findings& found);

// What a question like this one got before, a few lines; empty: nothing.
std::string tried_hint(Store& store, const Spec& spec);

int journal_about(const Arguments& arguments, Store& store);

// All runs of a question, the oldest first: those of this database, and those that lie as records
// in this checkout, once learn_shipped() has read them.
std::vector<Run> runs_of(Store& store, const std::string& question_sha);
// The same for people: the summary, and a line for each run; empty for a single one.
std::string runs_text(const std::vector<Run>& runs, const std::string& own_run_id);

// The record as its files show it, in every database the same: under Record::published, with those
// runs of its question that the checkout has records of.
Record as_published(Store& store, Record record);
// As this database shows it: with all runs of its question.
Record with_runs(Store& store, Record record);

// Renders the entry and its figure under journal/, keeps the Notes of an older file, stores the
// path. Sets record.journal_path. Throws Error where the file is another run's entry.
void write_entry(Store& store, Record& record);

}  // namespace steady
