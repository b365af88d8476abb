// A small ext4 in a file, mounted by a loop device: a disk that can be filled to its last byte and
// whose power can be cut. It needs root, mkfs.ext4 and a free loop device; why_not() says what is
// missing.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/platform/process.h"

namespace steady::test {

class LoopDisk {
public:
    // image: its file; place: where it is mounted.
    LoopDisk(std::string image, std::string place, std::uint64_t megabytes)
        : image_(std::move(image)), place_(std::move(place)) {
        if (::geteuid() != 0) {
            why_not_ = "mounting needs root";
            return;
        }
        std::ofstream(image_).close();
        std::filesystem::resize_file(image_, megabytes << 20U);
        if (!done({"/usr/sbin/mkfs.ext4", "-q", "-F", "-m", "0", image_})) {
            why_not_ = "no mkfs.ext4";
        } else if (!mount(image_, place_)) {
            why_not_ = "no loop device";
        }
    }
    ~LoopDisk() {
        std::error_code ignored;
        for (const std::string& place : mounted_) {
            done({"/usr/bin/umount", "-l", place});
            std::filesystem::remove(place, ignored);
        }
        for (const std::string& file : files_) std::filesystem::remove(file);
        std::filesystem::remove(image_);
    }
    LoopDisk(const LoopDisk&) = delete;
    LoopDisk& operator=(const LoopDisk&) = delete;

    const std::string& why_not() const { return why_not_; }  // empty: it is mounted

    // What the disk holds at this moment, without what only the page cache knows: a folder of its
    // own. The copy is not made at one instant, so a disk that is being written may look torn.
    std::string after_power_cut() {
        const std::string copy = fmt::format("{}.cut-{}", image_, files_.size()),
                          place = fmt::format("{}-cut-{}", place_, files_.size());
        files_.push_back(copy);
        std::filesystem::copy_file(image_, copy);
        EXPECT_TRUE(mount(copy, place));
        return place;
    }

private:
    static bool done(std::vector<std::string> words) {
        ChildOptions options;
        options.argv = std::move(words);
        options.limits = {};
        return ::access(options.argv[0].c_str(), X_OK) == 0 && run_child(options, 60).ok();
    }
    bool mount(const std::string& image, const std::string& place) {
        std::filesystem::create_directories(place);
        if (!done({"/usr/bin/mount", "-o", "loop", image, place})) return false;
        mounted_.push_back(place);
        return true;
    }

    std::string image_, place_, why_not_;
    std::vector<std::string> mounted_, files_;
};

}  // namespace steady::test
