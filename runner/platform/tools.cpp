// PATH first, since that is what the user means by a name; the usual folders after it, since a
// service often has a short PATH.
#include "runner/platform/tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/text.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_tool(const std::string& name, const std::string& directory) {
    if (name.empty()) return std::nullopt;
    if (name.find('/') != std::string::npos) {
        const fs::path below = directory.empty() ? fs::current_path() : fs::path(directory);
        const fs::path path = (below / name).lexically_normal();
        return is_program(path) ? std::optional(path.string()) : std::nullopt;
    }
    const char* own = std::getenv("PATH");
    std::stringstream folders(std::string(own == nullptr ? "" : own) +
                              ":/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        // An empty or relative entry would depend on the working directory.
        if (folder.empty() || folder[0] != '/') continue;
        const fs::path path = fs::path(folder) / name;
        if (is_program(path)) return path.string();
    }
    return std::nullopt;
}

std::string tool_path(const std::string& name, const std::string& needed_for,
                      const std::string& how) {
    if (auto found = find_tool(name)) return *found;
    throw Error(fmt::format("{} is not installed, and {} needs it{}", escape_line(name), needed_for,
                            how.empty() ? "" : ": " + how));
}

}  // namespace steady
