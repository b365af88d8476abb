// GGUF files written byte by byte, so that tests can make what no writer would. A file is the
// concatenation of strings; nothing here checks anything.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/file.h"

namespace steady::test {

template <typename T>
std::string le(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline std::string u32(std::uint32_t value) { return le(value); }
inline std::string u64(std::uint64_t value) { return le(value); }
inline std::string text(std::string_view value) { return u64(value.size()) + std::string(value); }

inline std::string head(std::uint64_t n_tensors, std::uint64_t n_kv, std::uint32_t version = 3) {
    return "GGUF" + u32(version) + u64(n_tensors) + u64(n_kv);
}
inline std::string entry(std::string_view key, std::uint32_t type, const std::string& payload) {
    return text(key) + u32(type) + payload;
}
inline std::string array(std::uint32_t element, std::uint64_t n, const std::string& payload) {
    return u32(element) + u64(n) + payload;
}
inline std::string tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                          std::uint32_t type, std::uint64_t offset) {
    std::string out = text(name) + u32(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) out += u64(dim);
    return out + u32(type) + u64(offset);
}
// The bytes so far, padded to the alignment, then n bytes of data.
inline std::string with_data(std::string bytes, std::size_t n, std::size_t alignment = 32) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
    return bytes + std::string(n, '\x11');
}

inline void append_to(int descriptor, std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = write(descriptor, bytes.data() + done, bytes.size() - done);
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
    }
    EXPECT_EQ(done, bytes.size());
}
// A descriptor of an unnamed file with these bytes.
inline int memory_file(std::string_view bytes) {
    const int descriptor = memfd_create("gguf", MFD_CLOEXEC);
    append_to(descriptor, bytes);
    return descriptor;
}

inline GgufFile parse(std::string_view bytes) {
    return GgufFile::from_descriptor(memory_file(bytes), "test.gguf");
}

inline std::string model_path(const std::string& name) {
    return std::string(STEADY_SOURCE_DIR) + "/tests/data/models/" + name;
}

}  // namespace steady::test
