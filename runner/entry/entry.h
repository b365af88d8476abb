// The journal entry of an experiment: Markdown and one figure, rendered from the record alone, so
// that the same record always gives the same bytes and an edited entry can be told from a true one.
// The section "Notes" belongs to people and survives rendering again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/record/record.h"

namespace steady {

// "journal/2026-11-21-<id>.md" and the figure beside it, ".svg"; the date is decided_at's.
std::string entry_path(const Record& record);
std::string figure_path(const Record& record);

// Throws Error (internal) for a record without analysis: there is no entry before a verdict.
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
