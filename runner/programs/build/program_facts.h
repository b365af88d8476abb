// Which bytes run when a program runs: the file itself, what interprets it, and every library that
// the loader maps. Two arms that differ in nothing of this are the same program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/programs/confine/confine.h"
#include "runner/record/record.h"

namespace steady {

struct ProgramFacts {
    std::string path, sha256;
    std::uint64_t bytes = 0;
    std::map<std::string, std::string> libraries;  // path → SHA-256
    std::string unknown;  // why the libraries are not known (one is missing, say); else empty
};

// `start`: see confined_start, for programs that somebody else wrote, since asking the loader maps
// the file. `library_path`: LD_LIBRARY_PATH of the run. Throws Error when the file cannot be
// read.
ProgramFacts program_facts(const std::string& path, const ConfinedStart& start = {},
                           const std::string& library_path = {});

// Adds <name>_sha256, <name>_bytes, <name>_libraries (file names, sorted) and
// <name>_libraries_sha256 over all of them.
void add_program(Fingerprint& fingerprint, const std::string& name, const ProgramFacts& facts);

}  // namespace steady
