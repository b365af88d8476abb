// `--exit-map bisect`: exit codes as `git bisect run` reads them. 0: the file's claim holds for
// this commit. 1: it is rejected. 125: this commit cannot be judged. 128: git must stop, since
// nothing was learned about the commit; every other code would count as a bad commit.
#pragma once

#include <string_view>

#include "runner/cli/command_line.h"
#include "runner/record/record.h"

namespace steady {

// Throws Error when --exit-map has another value. Asked before anything is measured or waited for.
void check_exit_map(const Arguments& arguments);

// The verdict's own code without --exit-map.
int verdict_exit(const Arguments& arguments, const Record& record);

// The code of an error: with --exit-map among the words, one that makes git stop.
int error_exit(int code, int argc, char** argv);

}  // namespace steady
