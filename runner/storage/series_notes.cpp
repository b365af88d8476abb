// Statements of notes and marks.
#include "runner/storage/series_notes.h"

#include "runner/storage/rows.h"

namespace steady::track {
namespace {

using rows::text;

constexpr const char* kNotes =
    "select note_id, commit_sha, kind, body, author, to_char(at at time zone 'utc', "
    "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from steady.series_note where series_id = $1 "
    "and removed_at is null order by note_id limit 500";
// A prefix is a range of texts: hex digits stand before 'g'.
constexpr const char* kCommitsLike =
    "select distinct commit_sha from steady.series_point where series_id = $1 "
    "and commit_sha collate \"C\" >= $2 and commit_sha collate \"C\" < $2 || 'g' limit 2";
constexpr const char* kAddNote = "select note_id from steady.add_series_note($1, $2, $3, $4, $5)";
constexpr const char* kRemoveNote = "select note_id from steady.remove_series_note($1, $2, $3)";

}  // namespace

std::vector<Note> notes(pqxx::transaction_base& transaction, std::int64_t series) {
    std::vector<Note> out;
    for (const auto& row : transaction.exec_params(kNotes, series)) {
        out.push_back({row[0].as<std::int64_t>(), text(row[1]), text(row[2]), text(row[3]),
                       text(row[4]), text(row[5])});
    }
    return out;
}

std::vector<std::string> commits_like(pqxx::transaction_base& transaction, std::int64_t series,
                                      const std::string& prefix) {
    std::vector<std::string> out;
    for (const auto& row : transaction.exec_params(kCommitsLike, series, prefix)) {
        out.push_back(text(row[0]));
    }
    return out;
}

std::optional<std::int64_t> add_note(pqxx::transaction_base& transaction, std::int64_t series,
                                     const Note& note) {
    const auto done =
        transaction.exec_params(kAddNote, series, note.commit, note.kind, note.text, note.author);
    if (done.empty()) return std::nullopt;
    return done[0][0].as<std::int64_t>();
}

bool remove_note(pqxx::transaction_base& transaction, std::int64_t series, std::int64_t note,
                 const std::string& by) {
    return !transaction.exec_params(kRemoveNote, series, note, by).empty();
}

}  // namespace steady::track
