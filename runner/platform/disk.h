// Room on a disk: said before it is gone, since a full disk stops a database hard.
#pragma once

#include <cstdint>
#include <string>

namespace steady {

struct DiskSpace {
    double free_bytes = 0, total_bytes = 0;  // both 0: the file system does not tell
};

DiskSpace disk_space(const std::string& directory);

// Why no new work may begin with so little room: less than 1 GB free, or less than 5 % (of a disk
// beyond 400 GB, less than 20 GB). Empty: there is enough.
std::string space_trouble(const DiskSpace& space, const std::string& directory);

// Removes the oldest files of a folder until at most `files` of together `bytes` are left.
void keep_newest(const std::string& folder, std::size_t files, std::uint64_t bytes);

}  // namespace steady
