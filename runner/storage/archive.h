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
    std::string id;        // its name here; not the archive's when another run has that name
    std::string run;       // the run's id, the same in every database
    bool created = false;  // false: this very run was here already, with the same content
};

// The experiments as one archive. Throws Error for one that is still waiting or running: two
// databases would work on it.
std::string export_archive(Connection& connection, const std::vector<Archived>& experiments);

// What an archive holds, checked as far as that is possible without a database: form, hashes, spec
// and analysis. Throws Error (exit 2) that names the experiment and what is wrong with it.
std::vector<Archived> list_archive(const std::string& text);

// All of it or, when anything is refused, nothing. Needs the owner's rights. A further run of a
// question that is here is stored beside the others. Throws Error (exit 2) when the very same run
// is here with another content.
std::vector<Imported> import_archive(Connection& connection, const std::string& text);

}  // namespace steady
