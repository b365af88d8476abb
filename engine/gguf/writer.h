// Builds the header of a GGUF file (version 3). Metadata is written in the order of the calls;
// tensors are placed in the order in which they are added.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/formats/formats.h"

namespace steady {

class GgufWriter {
public:
    static constexpr std::uint64_t kAlignment = 32;

    void u32(std::string_view key, std::uint32_t value);
    void f32(std::string_view key, float value);
    void boolean(std::string_view key, bool value);
    void string(std::string_view key, std::string_view value);
    void strings(std::string_view key, std::span<const std::string> values);
    void i32_array(std::string_view key, std::span<const std::int32_t> values);

    // dims[0] is the row length. Returns where the tensor's bytes start, from the start of the
    // data.
    std::uint64_t tensor(std::string_view name, Type type, std::span<const std::uint64_t> dims);

    // Header with padding: the data follow directly. Nothing may be added afterwards.
    std::string header() const;
    std::uint64_t data_bytes() const { return data_bytes_; }  // padded to the alignment

private:
    void entry(std::string_view key, std::uint32_t type);

    std::string metadata_;
    std::string tensors_;
    std::uint64_t n_metadata_ = 0;
    std::uint64_t n_tensors_ = 0;
    std::uint64_t data_bytes_ = 0;
};

}  // namespace steady
