// steady: the command line; `steady help` lists the verbs.
#include "runner/cli/command_line.h"
#include "runner/cli/verbs.h"

int main(int argc, char** argv) { return steady::run_program(steady::verbs(), argc, argv); }
