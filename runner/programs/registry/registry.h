// The folder of registrations, one JSON file per program, and what a registration means for
// building and running confined.
#pragma once

#include <string>
#include <vector>

#include "runner/programs/build/build_site.h"
#include "runner/programs/confine/confine.h"
#include "runner/programs/registry/registered_program.h"

namespace steady {

// $STEADY_PROGRAMS, else <state>/programs.
std::string programs_folder();

// All registrations, by name; none when the folder does not exist. Throws Error with every mistake:
// a worker must not start with half of what its owner wrote.
std::vector<RegisteredProgram> load_programs(const std::string& folder);

// Throws Error naming the registered ones.
const RegisteredProgram& find_program(const std::vector<RegisteredProgram>& programs,
                                      const std::string& name);

// Checks the file and copies it into the folder as <name>.json; replaces one only when `replace`.
// Throws Error with every mistake.
RegisteredProgram add_program_file(const std::string& folder, const std::string& file,
                                   bool replace);

// What the experiment wants to run of that repository. Throws Error for an unknown revision.
AskedProgram asked_of(const Spec& spec, const Source& source);

Confinement confinement_of(const RegisteredProgram& program);
BuildRecipe recipe_of(const RegisteredProgram& program);

// The newest commit that may be measured. Throws Error when no allowed branch or tag exists.
Revision allowed_revision(const RegisteredProgram& program, const Source& source);

}  // namespace steady
