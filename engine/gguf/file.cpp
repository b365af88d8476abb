// Getters of a checked file. Types are compared exactly: a key of the wrong type means a damaged
// file or another format.
#include "engine/gguf/file.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/gguf/cursor.h"
#include "engine/gguf/file_data.h"

namespace steady {
namespace {

std::string described(const Metadata& entry) {
    if (entry.type != ValueType::array) return std::string(value_type_name(entry.type));
    return fmt::format("array of {}", value_type_name(entry.element));
}

template <typename T>
T first_value(const Metadata& entry) {
    T value;
    std::memcpy(&value, entry.payload.data(), sizeof(T));
    return value;
}

template <typename T>
std::vector<T> all_values(const Metadata& entry) {
    std::vector<T> values(static_cast<std::size_t>(entry.n_elements));
    if (!values.empty()) std::memcpy(values.data(), entry.payload.data(), entry.payload.size());
    return values;
}

}  // namespace

std::string_view value_type_name(ValueType type) {
    constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                          "bool", "string", "array", "u64", "i64", "f64"};
    return names[static_cast<std::size_t>(type)];
}

std::size_t value_bytes(ValueType type) {
    constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return sizes[static_cast<std::size_t>(type)];
}

GgufFile::GgufFile(std::unique_ptr<Data> data) : data_(std::move(data)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const { return data_->name; }
std::uint64_t GgufFile::file_bytes() const { return data_->file_bytes; }
std::uint32_t GgufFile::version() const { return data_->version; }
std::uint64_t GgufFile::alignment() const { return data_->alignment; }
std::uint64_t GgufFile::data_offset() const { return data_->data_offset; }
const std::vector<Metadata>& GgufFile::metadata() const { return data_->metadata; }
const std::vector<Tensor>& GgufFile::tensors() const { return data_->tensors; }
int GgufFile::descriptor() const { return data_->descriptor.get(); }

const Metadata* GgufFile::find(std::string_view key) const {
    const auto found = data_->metadata_index.find(key);
    return found == data_->metadata_index.end() ? nullptr : &data_->metadata[found->second];
}

const Metadata* GgufFile::find_typed(std::string_view key, ValueType wanted) const {
    const Metadata* entry = find(key);
    if (entry != nullptr && entry->type != wanted) {
        reject(key, described(*entry), std::string(value_type_name(wanted)));
    }
    return entry;
}

const Metadata* GgufFile::find_array(std::string_view key, ValueType wanted) const {
    const Metadata* entry = find_typed(key, ValueType::array);
    if (entry != nullptr && entry->element != wanted) {
        reject(key, described(*entry), fmt::format("array of {}", value_type_name(wanted)));
    }
    return entry;
}

void GgufFile::reject(std::string_view key, std::string found, std::string allowed) const {
    const Metadata* entry = find(key);
    throw GgufError(path(), entry == nullptr ? 0 : entry->offset,
                    fmt::format("metadata key '{}'", printable(key)), std::move(found),
                    std::move(allowed));
}

std::optional<std::uint32_t> GgufFile::u32(std::string_view key) const {
    const Metadata* entry = find_typed(key, ValueType::u32);
    if (entry == nullptr) return std::nullopt;
    return first_value<std::uint32_t>(*entry);
}

std::optional<float> GgufFile::f32(std::string_view key) const {
    const Metadata* entry = find_typed(key, ValueType::f32);
    if (entry == nullptr) return std::nullopt;
    return first_value<float>(*entry);
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
    const Metadata* entry = find_typed(key, ValueType::boolean);
    if (entry == nullptr) return std::nullopt;
    return first_value<std::uint8_t>(*entry) != 0;
}

std::optional<std::string_view> GgufFile::string(std::string_view key) const {
    const Metadata* entry = find_typed(key, ValueType::string);
    if (entry == nullptr) return std::nullopt;
    Cursor cursor(entry->payload, entry->payload_offset, path());
    return cursor.text(key);
}

std::optional<std::vector<std::string_view>> GgufFile::strings(std::string_view key) const {
    const Metadata* entry = find_array(key, ValueType::string);
    if (entry == nullptr) return std::nullopt;
    Cursor cursor(entry->payload, entry->payload_offset, path());
    std::vector<std::string_view> values(static_cast<std::size_t>(entry->n_elements));
    for (std::string_view& value : values) value = cursor.text(key);
    return values;
}

std::optional<std::vector<std::int32_t>> GgufFile::i32_array(std::string_view key) const {
    const Metadata* entry = find_typed(key, ValueType::array);
    const bool is_u32 = entry != nullptr && entry->element == ValueType::u32;
    if (!is_u32) entry = find_array(key, ValueType::i32);
    if (entry == nullptr) return std::nullopt;
    return all_values<std::int32_t>(*entry);
}

std::optional<std::vector<float>> GgufFile::f32_array(std::string_view key) const {
    const Metadata* entry = find_array(key, ValueType::f32);
    if (entry == nullptr) return std::nullopt;
    return all_values<float>(*entry);
}

std::uint32_t GgufFile::require_u32(std::string_view key) const {
    const std::optional<std::uint32_t> value = u32(key);
    if (!value) reject(key, "no such key", "a u32");
    return *value;
}

float GgufFile::require_f32(std::string_view key) const {
    const std::optional<float> value = f32(key);
    if (!value) reject(key, "no such key", "an f32");
    return *value;
}

std::string_view GgufFile::require_string(std::string_view key) const {
    const std::optional<std::string_view> value = string(key);
    if (!value) reject(key, "no such key", "a string");
    return *value;
}

const Tensor* GgufFile::tensor(std::string_view name) const {
    const auto found = data_->tensor_index.find(name);
    return found == data_->tensor_index.end() ? nullptr : &data_->tensors[found->second];
}

const Tensor& GgufFile::require_tensor(std::string_view name) const {
    const Tensor* found = tensor(name);
    if (found == nullptr) {
        throw GgufError(path(), data_->data_offset, fmt::format("tensor '{}'", printable(name)),
                        "no such tensor", "a file that holds it");
    }
    return *found;
}

void GgufFile::read(const Tensor& tensor, std::span<std::byte> dst, std::uint64_t from) const {
    if (from > tensor.bytes || dst.size() > tensor.bytes - from) {
        throw GgufError(path(), tensor.offset, fmt::format("tensor '{}'", printable(tensor.name)),
                        fmt::format("a request for {} bytes from byte {} on", dst.size(), from),
                        fmt::format("at most its {} bytes", tensor.bytes));
    }
    read_exactly(descriptor(), path(), tensor.offset + from, dst);
}

std::span<const std::byte> GgufFile::map(const Tensor& tensor) const {
    std::call_once(data_->mapped_once, [this] {
        data_->mapping = std::make_unique<FileMapping>(descriptor(), file_bytes(), path());
    });
    return data_->mapping->bytes().subspan(static_cast<std::size_t>(tensor.offset),
                                           static_cast<std::size_t>(tensor.bytes));
}

}  // namespace steady
