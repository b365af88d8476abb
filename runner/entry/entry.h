// The journal entry of an experiment: Markdown and one figure, rendered from the record alone, so
// that the same record always gives the same bytes and an edited entry can be told from a true one.
// The section "Notes" belongs to people and survives rendering again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/record/record.h"

namespace steady {

// Whether the run has an entry: it was decided, or it ended without a verdict (cancelled, failed)
// and gets a short one.
bool has_entry(const Record& record);

// "journal/2026-11-21-<id>.md" and the figure beside it, ".svg"; the date is decided_at's, or that
// of the end of a run without a verdict, which has no figure.
std::string entry_path(const Record& record);
std::string figure_path(const Record& record);

// Whether a file at entry_path() is this run's: another run of the same file, on another machine,
// may have been decided on the same day. A file that names no moment of decision is taken for it.
bool is_entry_of(const Record& record, std::string_view existing);

// Throws Error (internal) for a record that has no entry: it waits or runs.
std::string render(const Record& record);

// A fresh entry with the notes of an existing file put in place of its own empty ones.
std::string render(const Record& record, std::string_view existing);

// For pages that are no record's entry: the empty section "Notes" at the end, and an existing
// file's notes in its place.
std::string with_empty_notes(std::string rendered);
std::string with_notes_of(std::string_view existing, const std::string& fresh);

// Where an existing entry differs from what the record renders: one line each, at most 10, empty
// when equal. Notes are not compared.
std::vector<std::string> check_entry(std::string_view existing, const Record& record);

}  // namespace steady
