// Data of other programs in, tables for other programs out: what the verbs export and import do
// besides archives.
#pragma once

#include "runner/cli/command_line.h"

namespace steady {

// `export --format csv|arrow|parquet`: on stdout, or with --out in a file.
int export_table(const Arguments& arguments);

// `import --adapter NAME`: histories of other benchmark programs become points of series.
int import_history(const Arguments& arguments);

}  // namespace steady
