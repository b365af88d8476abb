// The prefix is the folder above the program's: /usr/bin/steady has /usr.
#include "runner/platform/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runner/platform/files.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

fs::path prefix() { return fs::path(self_exe_dir()).parent_path(); }

}  // namespace

std::string part_path(const std::string& name) {
    const std::string beside = self_exe_dir() + "/" + name;
    const fs::path installed = prefix() / "libexec/steady" / name;
    return !fs::exists(beside) && fs::exists(installed) ? installed.string() : beside;
}

std::string shipped_dir() {
    const fs::path folder = prefix() / "share/steady";
    return fs::is_directory(folder / "experiments") ? folder.string() : std::string();
}

std::string data_dir() {
    if (::geteuid() == 0) return "/var/lib/steady";
    const char* data = std::getenv("XDG_DATA_HOME");
    if (data != nullptr && *data != '\0') return std::string(data) + "/steady";
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return std::string(home) + "/.local/share/steady";
    return state_dir();
}

}  // namespace steady
