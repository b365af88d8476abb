// Little-endian bytes appended to strings; the layout is that of engine/gguf/README.md.
#include "engine/gguf/writer.h"

#include "engine/gguf/file.h"

namespace steady {
namespace {

template <typename T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_text(std::string& out, std::string_view text) {
    put<std::uint64_t>(out, text.size());
    out += text;
}

std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + GgufWriter::kAlignment - 1) / GgufWriter::kAlignment * GgufWriter::kAlignment;
}

constexpr std::uint32_t number(ValueType type) { return static_cast<std::uint32_t>(type); }

}  // namespace

void GgufWriter::entry(std::string_view key, std::uint32_t type) {
    put_text(metadata_, key);
    put(metadata_, type);
    ++n_metadata_;
}

void GgufWriter::u32(std::string_view key, std::uint32_t value) {
    entry(key, number(ValueType::u32));
    put(metadata_, value);
}

void GgufWriter::f32(std::string_view key, float value) {
    entry(key, number(ValueType::f32));
    put(metadata_, value);
}

void GgufWriter::boolean(std::string_view key, bool value) {
    entry(key, number(ValueType::boolean));
    put<std::uint8_t>(metadata_, value ? 1 : 0);
}

void GgufWriter::string(std::string_view key, std::string_view value) {
    entry(key, number(ValueType::string));
    put_text(metadata_, value);
}

void GgufWriter::strings(std::string_view key, std::span<const std::string> values) {
    entry(key, number(ValueType::array));
    put(metadata_, number(ValueType::string));
    put<std::uint64_t>(metadata_, values.size());
    for (const std::string& value : values) put_text(metadata_, value);
}

void GgufWriter::i32_array(std::string_view key, std::span<const std::int32_t> values) {
    entry(key, number(ValueType::array));
    put(metadata_, number(ValueType::i32));
    put<std::uint64_t>(metadata_, values.size());
    for (const std::int32_t value : values) put(metadata_, value);
}

std::uint64_t GgufWriter::tensor(std::string_view name, Type type,
                                 std::span<const std::uint64_t> dims) {
    put_text(tensors_, name);
    put(tensors_, static_cast<std::uint32_t>(dims.size()));
    std::uint64_t rows = 1;
    for (const std::uint64_t dim : dims) put(tensors_, dim);
    for (const std::uint64_t dim : dims.subspan(1)) rows *= dim;
    put(tensors_, static_cast<std::uint32_t>(type));
    const std::uint64_t offset = data_bytes_;
    put(tensors_, offset);
    const auto row =
        static_cast<std::uint64_t>(row_bytes(type, static_cast<std::int64_t>(dims[0])));
    data_bytes_ += padded(rows * row);
    ++n_tensors_;
    return offset;
}

std::string GgufWriter::header() const {
    std::string out = "GGUF";
    put<std::uint32_t>(out, 3);
    put(out, n_tensors_);
    put(out, n_metadata_);
    out += metadata_;
    out += tensors_;
    out.resize(static_cast<std::size_t>(padded(out.size())), '\0');
    return out;
}

}  // namespace steady
