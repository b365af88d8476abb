// The files of the source tree, for tests that hold it to its rules.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace steady {

namespace fs = std::filesystem;
inline const fs::path kRoot = STEADY_SOURCE_DIR;

struct Source {
    std::string path;  // relative to the root
    std::vector<std::string> lines;
};

inline std::vector<Source> sources(const std::vector<std::string>& folders,
                                   const std::set<std::string>& extensions) {
    std::vector<Source> found;
    for (const std::string& folder : folders) {
        if (!fs::exists(kRoot / folder)) continue;
        for (auto it = fs::recursive_directory_iterator(kRoot / folder);
             it != fs::recursive_directory_iterator(); ++it) {
            // Code of others, as its makers ship it.
            const std::string name = it->path().filename().string();
            if (name == "node_modules" || name == "vendor") it.disable_recursion_pending();
            if (!it->is_regular_file() || !extensions.contains(it->path().extension().string())) {
                continue;
            }
            Source source{fs::relative(it->path(), kRoot).generic_string(), {}};
            std::ifstream in(it->path());
            for (std::string line; std::getline(in, line);) source.lines.push_back(line);
            found.push_back(std::move(source));
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Source& x, const Source& y) { return x.path < y.path; });
    return found;
}

}  // namespace steady
