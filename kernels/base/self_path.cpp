// /proc/self/exe, unless that is a loader that was called as a program.
#include "kernels/base/self_path.h"

#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"

namespace steady {

std::string self_path() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) throw Error{"cannot read /proc/self/exe: is /proc mounted?", kExitInternal};
    if (!path.filename().string().starts_with("ld-linux")) return path.string();
    std::string first;
    std::ifstream words("/proc/self/cmdline");
    std::getline(words, first, '\0');
    return first;
}

}  // namespace steady
