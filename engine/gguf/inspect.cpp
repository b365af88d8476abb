// Reads the tensor table only; no weight is touched.
#include "engine/gguf/inspect.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace steady {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kShownElements = 8;  // of an array

// Number of the block in "blk.7.attn_q.weight", or -1.
int block_of(std::string_view name) {
    constexpr std::string_view prefix = "blk.";
    if (name.substr(0, prefix.size()) != prefix) return -1;
    int block = -1;
    const auto parsed =
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), block);
    return parsed.ec == std::errc() ? block : -1;
}

bool holds(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

template <typename T>
ordered_json number_at(const Metadata& entry, std::uint64_t index) {
    T value;
    std::memcpy(&value, entry.payload.subspan(static_cast<std::size_t>(index) * sizeof(T)).data(),
                sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value)) return fmt::format("{}", value);
        // The shortest text that reads back as the same number: 1e-05, not 9.999999747378752e-06.
        return ordered_json::parse(fmt::format("{}", value));
    }
    return value;
}

ordered_json element_at(const Metadata& entry, std::uint64_t index) {
    switch (entry.element) {
        case ValueType::u8:
            return number_at<std::uint8_t>(entry, index);
        case ValueType::i8:
            return number_at<std::int8_t>(entry, index);
        case ValueType::u16:
            return number_at<std::uint16_t>(entry, index);
        case ValueType::i16:
            return number_at<std::int16_t>(entry, index);
        case ValueType::u32:
            return number_at<std::uint32_t>(entry, index);
        case ValueType::i32:
            return number_at<std::int32_t>(entry, index);
        case ValueType::u64:
            return number_at<std::uint64_t>(entry, index);
        case ValueType::i64:
            return number_at<std::int64_t>(entry, index);
        case ValueType::f32:
            return number_at<float>(entry, index);
        case ValueType::f64:
            return number_at<double>(entry, index);
        case ValueType::boolean:
            return number_at<std::uint8_t>(entry, index) != 0;
        case ValueType::string:
        case ValueType::array:
            break;
    }
    return nullptr;
}

ordered_json value_json(const GgufFile& file, const Metadata& entry) {
    if (entry.type == ValueType::string) return printable(*file.string(entry.key), 4096);
    if (entry.type != ValueType::array) return element_at(entry, 0);
    ordered_json first = ordered_json::array();
    if (entry.element == ValueType::string) {
        const auto values = *file.strings(entry.key);
        for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), kShownElements); ++i) {
            first.push_back(printable(values[i]));
        }
    } else {
        for (std::uint64_t i = 0; i < std::min(entry.n_elements, kShownElements); ++i) {
            first.push_back(element_at(entry, i));
        }
    }
    return {{"element", value_type_name(entry.element)},
            {"length", entry.n_elements},
            {"first", first}};
}

ordered_json dims_json(const Tensor& tensor) {
    ordered_json dims = ordered_json::array();
    for (int i = 0; i < tensor.n_dims; ++i)
        dims.push_back(tensor.dims[static_cast<std::size_t>(i)]);
    return dims;
}

// A key that may be missing or of another type: inspection shows odd files instead of refusing.
std::uint32_t u32_or(const GgufFile& file, const std::string& key, std::uint32_t fallback) {
    const Metadata* entry = file.find(key);
    return entry != nullptr && entry->type == ValueType::u32 ? *file.u32(key) : fallback;
}

std::string architecture_of(const GgufFile& file) {
    const Metadata* entry = file.find("general.architecture");
    if (entry == nullptr || entry->type != ValueType::string) return "";
    return std::string(*file.string("general.architecture"));
}

constexpr std::array<std::pair<const char*, std::uint64_t TokenBytes::*>, 8> kKinds{{
    {"attention", &TokenBytes::attention},
    {"routed", &TokenBytes::routed},
    {"shared", &TokenBytes::shared},
    {"router", &TokenBytes::router},
    {"dense", &TokenBytes::dense},
    {"norms", &TokenBytes::norms},
    {"output", &TokenBytes::output},
    {"embedding", &TokenBytes::embedding},
}};

}  // namespace

TokenBytes bytes_per_token(const GgufFile& file) {
    const std::string prefix = architecture_of(file) + ".";
    const std::uint32_t n_blocks = u32_or(file, prefix + "block_count", 1U << 30);
    const std::uint32_t n_predict = u32_or(file, prefix + "nextn_predict_layers", 0);
    const std::uint32_t n_used = u32_or(file, prefix + "expert_used_count", 0);
    const std::uint32_t n_decoded = n_blocks > n_predict ? n_blocks - n_predict : 0;
    const Tensor* output = file.tensor("output.weight");
    TokenBytes sum;
    for (const Tensor& tensor : file.tensors()) {
        const std::string_view name = tensor.name;
        const int block = block_of(name);
        const bool is_decoded = block < 0 || static_cast<std::uint32_t>(block) < n_decoded;
        if (name == "token_embd.weight") {
            sum.embedding += tensor.bytes / tensor.dims[1];
            if (output == nullptr) sum.output += tensor.bytes;
        } else if (&tensor == output) {
            sum.output += tensor.bytes;
        } else if (block < 0 || holds(name, ".attn_norm.") || holds(name, ".ffn_norm.")) {
            sum.norms += is_decoded ? tensor.bytes : 0;
        } else if (!is_decoded) {
            continue;
        } else if (holds(name, "_exps.")) {
            const std::uint64_t n_experts = tensor.dims[2];
            sum.routed += tensor.bytes / n_experts * std::min<std::uint64_t>(n_used, n_experts);
        } else if (holds(name, "_shexp.")) {
            sum.shared += tensor.bytes;
        } else if (holds(name, "ffn_gate_inp.") || holds(name, "exp_probs_b.")) {
            sum.router += tensor.bytes;
        } else {
            (holds(name, ".attn_") ? sum.attention : sum.dense) += tensor.bytes;
        }
    }
    return sum;
}

std::string inspect_text(const GgufFile& file) {
    std::string out = fmt::format("{}: GGUF version {}, {} bytes, alignment {}\n\nmetadata ({})\n",
                                  printable(file.path(), 400), file.version(), file.file_bytes(),
                                  file.alignment(), file.metadata().size());
    for (const Metadata& entry : file.metadata()) {
        const ordered_json value = value_json(file, entry);
        const std::string shown =
            entry.type == ValueType::array
                ? fmt::format("{} x {}: {} …", value["length"].dump(),
                              value_type_name(entry.element), value["first"].dump())
                : value.dump();
        out += fmt::format("  {:<48} {}\n", printable(entry.key, 200), shown);
    }
    out += fmt::format("\ntensors ({})\n", file.tensors().size());
    std::uint64_t weight_bytes = 0;
    for (const Tensor& tensor : file.tensors()) {
        weight_bytes += tensor.bytes;
        out += fmt::format("  {:<34} {:<5} {:>14} bytes  {}\n", printable(tensor.name),
                           type_name(tensor.type), tensor.bytes, dims_json(tensor).dump());
    }
    const TokenBytes bytes = bytes_per_token(file);
    out += fmt::format("  {:<34} {:<5} {:>14} bytes\n\nweight bytes read per token\n", "all", "",
                       weight_bytes);
    for (const auto& [name, member] : kKinds) {
        out += fmt::format("  {:<12} {:>14}\n", name, bytes.*member);
    }
    out += fmt::format("  {:<12} {:>14}\n", "total", bytes.total());
    return out;
}

std::string inspect_json(const GgufFile& file) {
    ordered_json out{{"file", printable(file.path(), 4096)},
                     {"version", file.version()},
                     {"file_bytes", file.file_bytes()},
                     {"alignment", file.alignment()},
                     {"data_offset", file.data_offset()}};
    ordered_json& metadata = out["metadata"] = ordered_json::object();
    // Appended, not looked up: an ordered object searches all of its keys on every assignment.
    auto& entries = metadata.get_ref<ordered_json::object_t&>();
    for (const Metadata& entry : file.metadata()) {
        entries.push_back({printable(entry.key, 65535), value_json(file, entry)});
    }
    ordered_json& tensors = out["tensors"] = ordered_json::array();
    for (const Tensor& tensor : file.tensors()) {
        tensors.push_back({{"name", printable(tensor.name)},
                           {"type", type_name(tensor.type)},
                           {"dims", dims_json(tensor)},
                           {"offset", tensor.offset},
                           {"bytes", tensor.bytes}});
    }
    const TokenBytes bytes = bytes_per_token(file);
    ordered_json& per_token = out["bytes_per_token"] = ordered_json::object();
    for (const auto& [name, member] : kKinds) per_token[name] = bytes.*member;
    per_token["total"] = bytes.total();
    return out.dump();
}

}  // namespace steady
