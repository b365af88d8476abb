// Reads the test data of the runner's tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace steady {

inline std::string data_path(const std::string& name) {
    return std::string(STEADY_SOURCE_DIR) + "/tests/data/" + name;
}

inline std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        throw std::runtime_error("cannot read " + path);
    }
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

inline std::string read_data(const std::string& name) { return read_file(data_path(name)); }

// Paths below tests/data, sorted.
inline std::vector<std::filesystem::path> data_files(const std::string& folder) {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(data_path(folder))) {
        out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace steady
