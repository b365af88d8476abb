// The search for an op's fastest variant and cut on one shape, or variant of a GPU. Its winner is a
// candidate only: the full model at steady state decides, and what was measured here never counts
// as confirmation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/tool/options.h"
#include "kernels/tool/team.h"

namespace steady::tool {

// Who wins each round of a successive halving: of n contestants with these scores (smaller is
// better), the indices of the better half (rounded up), best first. Equal scores keep their order.
std::vector<std::size_t> better_half(const std::vector<double>& scores);

// What makes a result of the cache this machine's and this program's.
struct TuneKey {
    std::string op, shape;
    int threads = 1;
    bool warm = false;
    std::string machine;  // the CPU's model and the features that may be used, or GPU and driver
    std::string build;    // hash of the program: source, compiler and flags
};
nlohmann::ordered_json to_json(const TuneKey& key);

// The cache file: a list of {key, result}. Error naming the file when it cannot be read or written.
nlohmann::ordered_json read_tune_cache(const std::string& path);
// The result stored under exactly this key; null when there is none.
nlohmann::ordered_json find_tuned(const nlohmann::ordered_json& cache, const TuneKey& key);
// Adds or replaces one result and writes the file whole.
void store_tuned(const std::string& path, const TuneKey& key, const nlohmann::ordered_json& result);

}  // namespace steady::tool
