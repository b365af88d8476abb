// Parses a GGUF header with one cursor and refuses invalid input: counts that exceed the file,
// sizes that overflow, duplicate names, tensors that overlap or leave the file.
// engine/gguf/README.md lists the checks.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "engine/gguf/cursor.h"
#include "engine/gguf/file_data.h"
#include "engine/gguf/foreign_types.h"

namespace steady {
namespace {

constexpr std::uint64_t kMinEntryBytes = 13;   // key length, type, one byte of value
constexpr std::uint64_t kMinTensorBytes = 24;  // name length, n_dims, type, offset
constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxNameBytes = 63;
constexpr std::uint64_t kMaxDim = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxAlignment = 65536;

std::string quoted(std::string_view what, std::string_view name) {
    return fmt::format("{} '{}'", what, printable(name));
}

}  // namespace

struct GgufParser {
    GgufFile::Data& data;
    Cursor cursor;

    explicit GgufParser(GgufFile::Data& target)
        : data(target), cursor(target.window.bytes(), 0, target.name, &target.window) {}

    void parse() {
        read_magic();
        const std::uint64_t tensors_at = cursor.offset();
        const auto n_tensors = cursor.number<std::uint64_t>("n_tensors");
        const std::uint64_t entries_at = cursor.offset();
        const auto n_entries = cursor.number<std::uint64_t>("n_kv");
        check_count(tensors_at, "n_tensors", n_tensors, kMinTensorBytes);
        check_count(entries_at, "n_kv", n_entries, kMinEntryBytes);
        for (std::uint64_t i = 0; i < n_entries; ++i) read_entry();
        read_alignment();
        std::vector<std::uint64_t> entry_offsets;
        for (std::uint64_t i = 0; i < n_tensors; ++i) {
            entry_offsets.push_back(cursor.offset());
            read_tensor();
        }
        place_tensors(entry_offsets);
    }

    void read_magic() {
        const std::span<const std::byte> magic = cursor.take(4, "magic");
        if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
            const std::string_view text{reinterpret_cast<const char*>(magic.data()), 4};
            cursor.fail(0, "magic", fmt::format("'{}'", printable(text)),
                        "'GGUF': a model file in GGUF format");
        }
        data.version = cursor.number<std::uint32_t>("version");
        if (data.version == 2 || data.version == 3) return;
        if (data.version == 0x02000000 || data.version == 0x03000000) {
            cursor.fail(4, "version", fmt::format("big-endian {}", data.version >> 24),
                        "2 or 3 in a little-endian file; convert the big-endian one");
        }
        cursor.fail(4, "version", std::to_string(data.version), "2 or 3");
    }

    void check_count(std::uint64_t at, std::string_view field, std::uint64_t n,
                     std::uint64_t each) const {
        if (n <= cursor.remaining() / each) return;
        cursor.fail(at, field, std::to_string(n),
                    fmt::format("at most {}: {} bytes remain", cursor.remaining() / each,
                                cursor.remaining()));
    }

    void read_entry() {
        const std::uint64_t at = cursor.offset();
        const std::string_view key = cursor.text("metadata key");
        if (key.empty() || key.size() > kMaxKeyBytes) {
            cursor.fail(at, "metadata key", fmt::format("{} bytes", key.size()),
                        "1 to 65535 bytes");
        }
        if (key.find('\0') != std::string_view::npos) {
            cursor.fail(at, quoted("metadata key", key), "a zero byte", "text without zero bytes");
        }
        Metadata entry{.key = key,
                       .type = read_value_type(key, "type"),
                       .element = ValueType::u8,
                       .offset = at};
        entry.element = entry.type;
        if (entry.type == ValueType::array) read_array_head(entry);
        entry.payload_offset = cursor.offset();
        read_payload(entry);
        if (!data.metadata_index.emplace(key, data.metadata.size()).second) {
            cursor.fail(at, quoted("metadata key", key), "it twice", "each key once");
        }
        data.metadata.push_back(entry);
    }

    ValueType read_value_type(std::string_view key, std::string_view what) {
        const std::uint64_t at = cursor.offset();
        const auto number = cursor.number<std::uint32_t>("metadata type");
        if (number > 12) {
            cursor.fail(at, fmt::format("{}: {}", quoted("metadata key", key), what),
                        std::to_string(number), "0 to 12");
        }
        return static_cast<ValueType>(number);
    }

    void read_array_head(Metadata& entry) {
        const std::uint64_t at = cursor.offset();
        entry.element = read_value_type(entry.key, "element type");
        if (entry.element == ValueType::array) {
            cursor.fail(at, fmt::format("{}: element type", quoted("metadata key", entry.key)),
                        "array", "no arrays of arrays");
        }
        const std::uint64_t count_at = cursor.offset();
        entry.n_elements = cursor.number<std::uint64_t>("array length");
        const std::size_t each = value_bytes(entry.element);
        const std::uint64_t most = cursor.remaining() / (each == 0 ? 8 : each);
        if (entry.n_elements > most) {
            cursor.fail(count_at, fmt::format("{}: length", quoted("metadata key", entry.key)),
                        std::to_string(entry.n_elements),
                        fmt::format("at most {}: {} bytes remain", most, cursor.remaining()));
        }
    }

    void read_payload(Metadata& entry) {
        const std::uint64_t at = cursor.offset();
        if (entry.element == ValueType::string) {
            for (std::uint64_t i = 0; i < entry.n_elements; ++i) cursor.text("metadata string");
            const auto bytes = static_cast<std::size_t>(cursor.offset() - at);
            entry.payload = data.window.bytes().subspan(static_cast<std::size_t>(at), bytes);
            return;
        }
        // Cannot overflow: an array's length was checked against the bytes that remain.
        entry.payload = cursor.take(entry.n_elements * value_bytes(entry.element), entry.key);
        if (entry.element != ValueType::boolean) return;
        for (std::size_t i = 0; i < entry.payload.size(); ++i) {
            const int value = std::to_integer<int>(entry.payload[i]);
            if (value > 1) {
                cursor.fail(at + i, quoted("metadata key", entry.key),
                            fmt::format("boolean {}", value), "0 or 1");
            }
        }
    }

    void read_alignment() {
        const auto found = data.metadata_index.find("general.alignment");
        if (found == data.metadata_index.end()) return;
        const Metadata& entry = data.metadata[found->second];
        if (entry.type != ValueType::u32) {
            cursor.fail(entry.offset, "metadata key 'general.alignment'",
                        std::string(value_type_name(entry.type)), "u32");
        }
        std::uint32_t value = 0;
        std::memcpy(&value, entry.payload.data(), sizeof(value));
        if (!std::has_single_bit(value) || value < 8 || value > kMaxAlignment) {
            cursor.fail(entry.offset, "metadata key 'general.alignment'", std::to_string(value),
                        "a power of two from 8 to 65536");
        }
        data.alignment = value;
    }

    void read_tensor() {
        const std::uint64_t at = cursor.offset();
        const std::string_view name = cursor.text("tensor name");
        if (name.empty() || name.size() > kMaxNameBytes) {
            cursor.fail(at, "tensor name", fmt::format("{} bytes", name.size()), "1 to 63 bytes");
        }
        const std::string field = quoted("tensor", name);
        if (name.find('\0') != std::string_view::npos) {
            cursor.fail(at, field, "a zero byte in the name", "text without zero bytes");
        }
        Tensor tensor{.name = std::string(name), .type = Type::f32};
        const std::uint64_t n_dims_at = cursor.offset();
        const auto n_dims = cursor.number<std::uint32_t>("tensor n_dims");
        if (n_dims < 1 || n_dims > 4) {
            cursor.fail(n_dims_at, field + ": n_dims", std::to_string(n_dims), "1 to 4");
        }
        tensor.n_dims = static_cast<int>(n_dims);
        const std::uint64_t dims_at = cursor.offset();
        for (std::uint32_t i = 0; i < n_dims; ++i) {
            const std::uint64_t dim_at = cursor.offset();
            tensor.dims[i] = cursor.number<std::uint64_t>("tensor dims");
            if (tensor.dims[i] < 1 || tensor.dims[i] > kMaxDim) {
                cursor.fail(dim_at, fmt::format("{}: dim {}", field, i),
                            std::to_string(tensor.dims[i]), "1 to 2^40");
            }
        }
        const std::uint64_t type_at = cursor.offset();
        const auto type = cursor.number<std::uint32_t>("tensor type");
        const std::optional<Type> known = type_from_number(type);
        if (!known) {
            cursor.fail(type_at, field + ": type", foreign_type_name(type), readable_type_names());
        }
        tensor.type = *known;
        size_tensor(tensor, field, dims_at);
        const std::uint64_t offset_at = cursor.offset();
        tensor.offset = cursor.number<std::uint64_t>("tensor offset");
        if (tensor.offset % data.alignment != 0) {
            cursor.fail(offset_at, field + ": offset", std::to_string(tensor.offset),
                        fmt::format("a multiple of the alignment, {}", data.alignment));
        }
        if (!data.tensor_index.emplace(name, data.tensors.size()).second) {
            cursor.fail(at, field, "it twice", "each tensor once");
        }
        data.tensors.push_back(std::move(tensor));
    }

    void size_tensor(Tensor& tensor, const std::string& field, std::uint64_t dims_at) const {
        const auto values = static_cast<std::uint64_t>(block_values(tensor.type));
        if (tensor.dims[0] % values != 0) {
            cursor.fail(
                dims_at, field + ": dim 0", std::to_string(tensor.dims[0]),
                fmt::format("a multiple of {}, the block of {}", values, type_name(tensor.type)));
        }
        std::uint64_t n_blocks = tensor.dims[0] / values;
        bool fits = true;
        for (std::size_t i = 1; i < 4; ++i) {
            fits = fits && checked_multiply(n_blocks, tensor.dims[i], n_blocks);
        }
        const auto each = static_cast<std::uint64_t>(block_bytes(tensor.type));
        std::uint64_t padded = 0;
        fits = fits && checked_multiply(n_blocks, each, tensor.bytes);
        // The number of values must fit as well: Tensor::n_values multiplies the dims unchecked.
        fits = fits && checked_multiply(n_blocks, values, padded);
        fits = fits && checked_add(tensor.bytes, data.alignment - 1, padded);
        if (!fits) {
            cursor.fail(dims_at, field + ": dims",
                        fmt::format("{} x {} x {} x {}", tensor.dims[0], tensor.dims[1],
                                    tensor.dims[2], tensor.dims[3]),
                        "a size that fits 64 bits");
        }
    }

    // Turns offsets relative to the data into offsets in the file, and checks that every tensor
    // lies inside the file and none shares bytes with another.
    void place_tensors(const std::vector<std::uint64_t>& entry_offsets) {
        std::uint64_t start = 0;
        if (!checked_add(cursor.offset(), data.alignment - 1, start)) start = ~std::uint64_t{0};
        data.data_offset = start / data.alignment * data.alignment;
        std::vector<std::size_t> order(data.tensors.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            Tensor& tensor = data.tensors[i];
            order[i] = i;
            std::uint64_t end = 0;
            const bool fits = checked_add(tensor.offset, data.data_offset, tensor.offset) &&
                              checked_add(tensor.offset, tensor.bytes, end);
            if (!fits || end > data.file_bytes) {
                cursor.fail(entry_offsets[i], quoted("tensor", tensor.name),
                            fits ? fmt::format("{} bytes that end at byte {}", tensor.bytes, end)
                                 : "an offset that does not fit 64 bits",
                            fmt::format("an end inside the file of {} bytes; it may be cut short",
                                        data.file_bytes));
            }
        }
        const auto& tensors = data.tensors;
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return tensors[a].offset < tensors[b].offset;
        });
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Tensor& before = tensors[order[i - 1]];
            const Tensor& after = tensors[order[i]];
            if (after.offset < before.offset + before.bytes) {
                cursor.fail(entry_offsets[order[i]], quoted("tensor", after.name),
                            fmt::format("bytes shared with {}", quoted("tensor", before.name)),
                            "tensors that do not overlap");
            }
        }
    }
};

GgufFile GgufFile::open(const std::string& path) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);  // on a network's file system
    if (descriptor < 0) {
        throw GgufError(path, 0, "opening", std::strerror(errno),
                        "the path of a GGUF file that can be read");
    }
    return from_descriptor(descriptor, path);
}

GgufFile GgufFile::from_descriptor(int descriptor, std::string name) {
    Descriptor owner(descriptor);
    struct stat status {};
    if (fstat(descriptor, &status) != 0) {
        throw GgufError(name, 0, "opening", std::strerror(errno), "an open file");
    }
    if (!S_ISREG(status.st_mode)) {
        throw GgufError(name, 0, "opening", S_ISDIR(status.st_mode) ? "a directory" : "no file",
                        "a regular file in GGUF format");
    }
    auto data = std::make_unique<Data>(descriptor, std::move(name),
                                       static_cast<std::uint64_t>(status.st_size));
    owner.release();
    GgufParser(*data).parse();
    return GgufFile(std::move(data));
}

}  // namespace steady
