// Either bound is enough to stop: 1 GB is nothing on a large disk that others fill, and 5 % is
// nothing on a small one.
#include "runner/platform/disk.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace steady {

namespace fs = std::filesystem;

DiskSpace disk_space(const std::string& directory) {
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) != 0) return {};
    const auto block = static_cast<double>(info.f_frsize);
    return {static_cast<double>(info.f_bavail) * block, static_cast<double>(info.f_blocks) * block};
}

std::string space_trouble(const DiskSpace& space, const std::string& directory) {
    if (space.total_bytes <= 0) return "";
    const double needed = std::max(1e9, std::min(0.05 * space.total_bytes, 20e9));
    if (space.free_bytes >= needed) return "";
    return fmt::format(
        "only {:.0f} MB free in {}: no job is taken before that is more than {:.0f} MB",
        space.free_bytes / 1e6, directory, needed / 1e6);
}

void keep_newest(const std::string& folder, std::size_t files, std::uint64_t bytes) {
    struct Kept {
        fs::file_time_type time;
        fs::path path;
        std::uint64_t bytes = 0;
    };
    std::vector<Kept> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (!entry.is_regular_file(error)) continue;
        all.push_back({entry.last_write_time(error), entry.path(), entry.file_size(error)});
    }
    std::sort(all.begin(), all.end(), [](const Kept& x, const Kept& y) {
        return std::pair(x.time, x.path) > std::pair(y.time, y.path);
    });
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        sum += all[i].bytes;
        if (i >= files || sum > bytes) fs::remove(all[i].path, error);
    }
}

}  // namespace steady
