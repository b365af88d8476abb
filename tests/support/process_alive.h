// Whether a process still runs.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace steady {

inline bool alive(pid_t pid) {  // a zombie is dead
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    if (!std::getline(file, text)) return false;
    return text.at(text.rfind(')') + 2) != 'Z';
}

// Processes whose program lies below this folder.
inline int running_below(const std::filesystem::path& folder) {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::error_code error;
        const auto program = std::filesystem::read_symlink(entry.path() / "exe", error);
        if (!error && program.string().starts_with(folder.string() + "/")) ++n;
    }
    return n;
}

}  // namespace steady
