// A GGUF model file: metadata and tensor table, checked whole when it is opened, so that everything
// handed out later can be trusted to lie inside the file. Metadata values are decoded on request
// from the header's bytes, so that a vocabulary of 150 000 entries costs no allocation per entry.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/gguf/gguf_error.h"
#include "engine/gguf/window.h"
#include "kernels/formats/formats.h"

namespace steady {

// Type numbers of GGUF metadata values.
enum class ValueType : std::uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};
std::string_view value_type_name(ValueType type);  // "u32"
std::size_t value_bytes(ValueType type);           // 0 for string and array

// One metadata entry; a scalar counts as one element.
struct Metadata {
    std::string_view key;
    ValueType type;     // array, or the scalar's type
    ValueType element;  // of the array; otherwise as type
    std::uint64_t n_elements = 1;
    std::uint64_t offset = 0;          // of the entry in the file
    std::uint64_t payload_offset = 0;  // of the first element
    std::span<const std::byte> payload{};
};

struct Tensor {
    std::string name;
    Type type;
    std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  // dims[0] is the length of a contiguous row
    int n_dims = 1;
    std::uint64_t offset = 0;  // bytes from the start of the file
    std::uint64_t bytes = 0;
    std::uint64_t n_values() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

// Movable, not copyable; const functions may be called from several threads.
class GgufFile {
public:
    // Reads and checks header, metadata and tensor table. GgufError if anything is out of order.
    static GgufFile open(const std::string& path);
    // The same for a file that is already open (the descriptor is taken over); `name` for errors.
    static GgufFile from_descriptor(int descriptor, std::string name);

    GgufFile(GgufFile&&) noexcept;
    GgufFile& operator=(GgufFile&&) noexcept;
    ~GgufFile();

    const std::string& path() const;
    std::uint64_t file_bytes() const;
    std::uint32_t version() const;
    std::uint64_t alignment() const;    // bytes
    std::uint64_t data_offset() const;  // of the tensor data

    // ---- metadata. nullopt: no such key. GgufError: another type than asked (key, wanted, found).
    const std::vector<Metadata>& metadata() const;
    const Metadata* find(std::string_view key) const;
    std::optional<std::uint32_t> u32(std::string_view key) const;
    std::optional<float> f32(std::string_view key) const;
    std::optional<bool> boolean(std::string_view key) const;
    std::optional<std::string_view> string(std::string_view key) const;
    // Arrays. The string views live as long as this object.
    std::optional<std::vector<std::string_view>> strings(std::string_view key) const;
    std::optional<std::vector<std::int32_t>> i32_array(std::string_view key) const;  // i32 or u32
    std::optional<std::vector<float>> f32_array(std::string_view key) const;
    // As above, but an absent key is an error too.
    std::uint32_t require_u32(std::string_view key) const;
    float require_f32(std::string_view key) const;
    std::string_view require_string(std::string_view key) const;
    // An error about the value of `key`, for callers that check meaning.
    [[noreturn]] void reject(std::string_view key, std::string found, std::string allowed) const;

    // ---- tensors, in file order
    const std::vector<Tensor>& tensors() const;
    const Tensor* tensor(std::string_view name) const;  // nullptr: no such tensor
    // Error naming the tensor if absent.
    const Tensor& require_tensor(std::string_view name) const;
    // Reads dst.size() bytes of the tensor from byte `from` on; they must lie inside the tensor.
    // A file that has shrunk is a GgufError.
    void read(const Tensor& tensor, std::span<std::byte> dst, std::uint64_t from = 0) const;
    // The tensor's bytes mapped from the file. If the file shrinks while mapped, touching the lost
    // bytes ends the program with one line and exit code 2 (engine/gguf/mapping.h).
    std::span<const std::byte> map(const Tensor& tensor) const;
    int descriptor() const;

private:
    struct Data;
    friend struct GgufParser;
    explicit GgufFile(std::unique_ptr<Data> data);
    const Metadata* find_typed(std::string_view key, ValueType wanted) const;
    const Metadata* find_array(std::string_view key, ValueType wanted) const;
    std::unique_ptr<Data> data_;
};

}  // namespace steady
