// The project's guides as tests read them: every Markdown page but journal entries and benchmarks
// (which are dated and stay as they were), with its fenced blocks.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace steady {

struct Block {
    int line = 0;          // of the opening fence, 1-based
    std::string language;  // first word after the fence
    std::string note;      // the rest: "not run: why"
    std::vector<std::string> lines;
};

struct Guide {
    std::string path;  // relative to the root
    std::vector<std::string> lines;
    std::vector<Block> blocks;
};

inline std::vector<Block> blocks_of(const std::vector<std::string>& lines) {
    std::vector<Block> blocks;
    bool inside = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string& line = lines[i];
        const std::size_t at = line.find_first_not_of(' ');
        const bool fence = at != std::string::npos && line.compare(at, 3, "```") == 0;
        if (fence && !inside) {
            const std::string info = line.substr(at + 3);
            const std::size_t space = std::min(info.find(' '), info.size());
            blocks.push_back({static_cast<int>(i) + 1, info.substr(0, space), {}, {}});
            if (space < info.size()) blocks.back().note = info.substr(space + 1);
        } else if (inside && !fence) {
            blocks.back().lines.push_back(line);
        }
        if (fence) inside = !inside;
    }
    return blocks;
}

inline std::vector<Guide> read_guides(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    static const std::set<std::string> kOthers = {"build",   ".git",       "node_modules", "data",
                                                  ".steady", "benchmarks", "vendor"};
    std::vector<Guide> guides;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
         ++it) {
        const std::string name = it->path().filename().string();
        if (it->is_directory() && kOthers.contains(name)) it.disable_recursion_pending();
        if (it->path().extension() != ".md") continue;
        const std::string path = it->path().lexically_relative(root).generic_string();
        if (path.starts_with("journal/") && name != "README.md") continue;
        Guide guide{path, {}, {}};
        std::ifstream in(it->path());
        for (std::string line; std::getline(in, line);) guide.lines.push_back(line);
        guide.blocks = blocks_of(guide.lines);
        guides.push_back(std::move(guide));
    }
    std::sort(guides.begin(), guides.end(),
              [](const Guide& a, const Guide& b) { return a.path < b.path; });
    return guides;
}

}  // namespace steady
