// What a GgufFile holds; shared by its two source files (the parser fills it, the getters read it).
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/gguf/file.h"
#include "engine/gguf/mapping.h"

namespace steady {

class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return value_; }
    int release() { return std::exchange(value_, -1); }

private:
    int value_;
};

struct GgufFile::Data {
    Data(int open_descriptor, std::string path, std::uint64_t bytes)
        : name(std::move(path)),
          descriptor(open_descriptor),
          file_bytes(bytes),
          window(open_descriptor, bytes, name) {}

    std::string name;
    Descriptor descriptor;
    std::uint64_t file_bytes;
    HeaderWindow window;
    std::uint32_t version = 0;
    std::uint64_t alignment = 32;
    std::uint64_t data_offset = 0;
    std::vector<Metadata> metadata;
    std::unordered_map<std::string_view, std::size_t> metadata_index;  // keys live in the window
    std::vector<Tensor> tensors;
    std::unordered_map<std::string_view, std::size_t> tensor_index;  // names live in the window
    std::once_flag mapped_once;
    std::unique_ptr<FileMapping> mapping;
};

}  // namespace steady
