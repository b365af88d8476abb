// The tuner's memory between runs: one JSON file, written aside and renamed.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"
#include "kernels/tool/tune.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json to_json(const TuneKey& key) {
    return {{"op", key.op},     {"shape", key.shape},     {"threads", key.threads},
            {"warm", key.warm}, {"machine", key.machine}, {"build", key.build}};
}

Json read_tune_cache(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Json::array();
    Json cache = Json::parse(file, nullptr, false);
    bool good = cache.is_array();
    for (std::size_t i = 0; good && i < cache.size(); ++i) {
        good = cache[i].is_object() && cache[i].contains("key") && cache[i].contains("result");
    }
    if (good) return cache;
    throw Error{
        fmt::format("--cache '{}': not a cache of `steady-kernels tune`; delete the file "
                    "or name another one",
                    path)};
}

Json find_tuned(const Json& cache, const TuneKey& key) {
    const Json wanted = to_json(key);
    for (const Json& entry : cache) {
        if (entry["key"] == wanted) return entry["result"];
    }
    return nullptr;
}

void store_tuned(const std::string& path, const TuneKey& key, const Json& result) {
    Json cache = read_tune_cache(path);
    const Json wanted = to_json(key);
    bool replaced = false;
    for (Json& entry : cache) {
        if (entry["key"] != wanted) continue;
        entry["result"] = result;
        replaced = true;
    }
    if (!replaced) cache.push_back({{"key", wanted}, {"result", result}});
    std::error_code problem;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, problem);
    const std::string aside = path + ".part";
    std::ofstream file(aside);
    file << cache.dump(1) << '\n';
    file.close();
    if (file) std::filesystem::rename(aside, path, problem);
    if (!file || problem) {
        throw Error{
            fmt::format("--cache '{}': cannot be written; name a file in a folder that "
                        "you may write to",
                        path)};
    }
}

}  // namespace steady::tool
