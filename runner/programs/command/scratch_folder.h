// A folder of one run: what it writes there is read, then all of it goes.
#pragma once

#include <filesystem>
#include <string>

#include "runner/platform/files.h"

namespace steady {

class ScratchFolder {
public:
    ScratchFolder() : path_(scratch_dir() + "/steady-run-" + random_hex(6)) {
        make_directories(path_, 0700);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace steady
