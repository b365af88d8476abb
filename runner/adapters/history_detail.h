// The readers behind history.h. Not for other folders.
#pragma once

#include "runner/adapters/history.h"

namespace steady::adapters_detail {

History read_asv_history(const std::vector<AdapterFile>& files, const std::string& metric);
History read_bencher_history(const std::vector<AdapterFile>& files, const std::string& metric);
// A file, or a folder named by a commit, is one run of a program that `adapter` reads.
History read_run_history(const Adapter& adapter, const std::vector<AdapterFile>& files,
                         const std::string& metric);

// Rows of one run → one point for each benchmark. Rows without a direction are left out.
void add_points(History& history, const std::vector<AdapterRow>& rows, const std::string& metric,
                const HistoryPoint& run, const std::string& where);

}  // namespace steady::adapters_detail
