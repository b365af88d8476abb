// Whether a process still runs.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <fstream>
#include <string>

namespace steady {

inline bool alive(pid_t pid) {  // a zombie is dead
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    if (!std::getline(file, text)) return false;
    return text.at(text.rfind(')') + 2) != 'Z';
}

}  // namespace steady
