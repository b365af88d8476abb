// Complete experiments as one JSON text, for another database: everything that the tables hold
// about them, with the samples compressed. An import is read back and compared before the commit,
// so that it is identical or not stored at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/storage/connection.h"

namespace steady {

struct Archived {
    std::string id;
    std::string entry;  // the journal entry's file with people's notes; empty: none was written
};

struct Imported {
    std::string id;
    bool created = false;  // false: it was here already, equal to the byte
};

// The experiments as one archive. Throws Error for one that is still waiting or running: two
// databases would work on it.
std::string export_archive(Connection& connection, const std::vector<Archived>& experiments);

// What an archive holds, checked as far as that is possible without a database: form, hashes, spec
// and analysis. Throws Error (exit 2) that names the experiment and what is wrong with it.
std::vector<Archived> list_archive(const std::string& text);

// All of it or, when anything is refused, nothing. Needs the owner's rights. Throws Error (exit 2)
// when an experiment of that id is here with another content.
std::vector<Imported> import_archive(Connection& connection, const std::string& text);

}  // namespace steady
