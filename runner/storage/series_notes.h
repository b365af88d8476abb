// Notes and marks of people on a series. Functions take a transaction and never commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/storage/pqxx.h"

namespace steady::track {

struct Note {
    std::int64_t id = 0;
    std::string commit;
    std::string kind;  // note · mark: the writer sees a change of level here
    std::string text, author, at;
};

// Those that nobody removed, the oldest first; at most 500.
std::vector<Note> notes(pqxx::transaction_base& transaction, std::int64_t series);

// Commits of the series' points that begin with `prefix`, at most two.
std::vector<std::string> commits_like(pqxx::transaction_base& transaction, std::int64_t series,
                                      const std::string& prefix);

// commit: 40 digits. Its number; nothing when no point has that commit.
std::optional<std::int64_t> add_note(pqxx::transaction_base& transaction, std::int64_t series,
                                     const Note& note);

// False: the series has no such note now.
bool remove_note(pqxx::transaction_base& transaction, std::int64_t series, std::int64_t note,
                 const std::string& by);

}  // namespace steady::track
