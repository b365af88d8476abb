// What several verbs do with records: open the store, judge stored samples again, write an entry.
#pragma once

#include "runner/cli/command_line.h"
#include "runner/pipeline/record.h"
#include "runner/storage/store.h"

namespace steady {

// --db, STEADY_DATABASE_URL or the private database; migrated.
Store open_store(const Arguments& arguments, DatabaseRole role = DatabaseRole::owner);

// The analysis of a record's stored samples; finished: no more pairs will come.
Analysis judge_again(const Record& record, bool finished = true);

// Renders the entry and its figure under journal/, keeps the Notes of an older file, stores the
// path. Sets record.journal_path.
void write_entry(Store& store, Record& record);

}  // namespace steady
