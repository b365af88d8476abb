// The questions that `steady track --repo` asks of each commit.
#pragma once

#include <string>
#include <vector>

#include "runner/cli/command_line.h"
#include "runner/spec/spec.h"

namespace steady {

// `root`: the repository's work tree. Each has a gate that decides and arms that differ in their
// revisions only. Throws Error where there is none, or where one is of another kind.
std::vector<Spec> track_questions(const Arguments& arguments, const std::string& root,
                                  const std::string& branch);

}  // namespace steady
