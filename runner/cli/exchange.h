// Data of other programs in, tables for other programs out: what the verbs export and import do
// besides archives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/cli/command_line.h"

namespace steady {

// `export --format csv|arrow|parquet`: on stdout, or with --out in a file.
int export_table(const Arguments& arguments);

// `import --adapter NAME`: histories of other benchmark programs become points of series.
int import_history(const Arguments& arguments);

// The records of this checkout or installation, experiments/records/*.steady.json, sorted.
std::vector<std::string> shipped_records();

// Reads them all into the database without entries, which are shipped, too. `told` hears the
// numbers of read and refused files after each; false ends the import there. Throws Error where
// this login may not import.
void import_shipped(const Arguments& arguments, const std::function<bool(int, int)>& told);

}  // namespace steady
