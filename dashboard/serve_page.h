// The verb `serve`, which main() gives to the command line: the page stands above it.
#pragma once

#include "runner/cli/command_line.h"

namespace steady {

int serve_page(const Arguments& arguments);

}  // namespace steady
