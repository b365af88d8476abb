// A file mapped read-only. When another process shortens the file, the system sends SIGBUS; the
// handler prints one line and exits with code 2 instead of a core dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace steady {

class FileMapping {
public:
    // Maps the first `bytes` of an open file. GgufError if the system refuses.
    FileMapping(int descriptor, std::uint64_t bytes, const std::string& file);
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;

    std::span<const std::byte> bytes() const { return {base_, size_}; }

private:
    const std::byte* base_ = nullptr;
    std::size_t size_ = 0;
    int slot_ = -1;  // in the table that the signal handler reads
};

}  // namespace steady
