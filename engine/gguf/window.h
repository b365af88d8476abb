// The first part of a file, loaded on demand at an address that never moves, so that views into it
// stay valid while it grows. Only the bytes that the header really has become resident: a short
// file that claims gigabytes costs nothing, and a file that shrinks meanwhile is a short read, not
// a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace steady {

class HeaderWindow {
public:
    static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // no known header has 1/20

    HeaderWindow(int descriptor, std::uint64_t file_bytes, std::string file);
    ~HeaderWindow();
    HeaderWindow(const HeaderWindow&) = delete;
    HeaderWindow& operator=(const HeaderWindow&) = delete;

    // The whole window, min(file_bytes, kMaxBytes); only bytes passed to load() may be read.
    std::span<const std::byte> bytes() const { return {base_, size_}; }
    // Makes bytes [0, end) readable. Error if the file ends before.
    void load(std::uint64_t end);

private:
    int descriptor_;
    std::string file_;
    std::byte* base_ = nullptr;
    std::size_t size_ = 0;
    std::size_t loaded_ = 0;
};

// Reads exactly `into.size()` bytes at `offset`; EINTR and short reads are continued.
// GgufError if the file ends early or the system refuses.
void read_exactly(int descriptor, const std::string& file, std::uint64_t offset,
                  std::span<std::byte> into);

}  // namespace steady
