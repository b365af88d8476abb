// Model files in memory that tests may rearrange: metadata and tensors as plain lists, read from a
// GGUF or made up, and written back as a file that the engine opens by path.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "kernels/cases/case.h"
#include "kernels/cases/random.h"
#include "kernels/formats/formats.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/plain_model.h"

namespace steady::test {

struct FileTensor {
    std::string name;
    Type type = Type::f32;
    std::vector<std::uint64_t> dims;  // dims[0] is the row length
    std::string bytes;

    std::int64_t cols() const { return static_cast<std::int64_t>(dims[0]); }
    std::vector<float> values() const {
        const auto n =
            static_cast<std::int64_t>(bytes.size()) / block_bytes(type) * block_values(type);
        std::vector<float> out(static_cast<std::size_t>(n));
        dequantize(type, reinterpret_cast<const std::byte*>(bytes.data()), out.data(), n);
        return out;
    }
};

inline FileTensor float_tensor(std::string name, std::vector<std::uint64_t> dims,
                               const std::vector<float>& values) {
    return {std::move(name), Type::f32, std::move(dims),
            std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size())};
}

class ModelFile {
public:
    ModelFile() = default;
    explicit ModelFile(const std::string& path) {
        const GgufFile file = GgufFile::open(path);
        for (const Metadata& entry : file.metadata()) {
            std::string value = u32(static_cast<std::uint32_t>(entry.type));
            if (entry.type == ValueType::array) {
                value += u32(static_cast<std::uint32_t>(entry.element)) + u64(entry.n_elements);
            }
            value.append(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
            keys_.emplace_back(entry.key, value);
        }
        for (const Tensor& tensor : file.tensors()) {
            FileTensor made{tensor.name, tensor.type, {}, std::string(tensor.bytes, '\0')};
            made.dims.assign(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
            file.read(tensor, {reinterpret_cast<std::byte*>(made.bytes.data()), tensor.bytes});
            tensors.push_back(std::move(made));
        }
    }

    std::vector<FileTensor> tensors;

    // Puts the keys back as they were.
    class KeptKeys {
    public:
        explicit KeptKeys(ModelFile& file) : file_(file), keys_(file.keys_) {}
        ~KeptKeys() { file_.keys_ = std::move(keys_); }
        KeptKeys(const KeptKeys&) = delete;
        KeptKeys& operator=(const KeptKeys&) = delete;

    private:
        ModelFile& file_;
        std::vector<std::pair<std::string, std::string>> keys_;
    };

    void set_u32(const std::string& key, std::uint32_t v) { set(key, u32(4) + u32(v)); }
    void set_f32(const std::string& key, float v) { set(key, u32(6) + le(v)); }
    void set_bool(const std::string& key, bool v) { set(key, u32(7) + (v ? '\1' : '\0')); }
    void set_text(const std::string& key, std::string_view v) { set(key, u32(8) + text(v)); }
    bool erase(const std::string& key) {
        return std::erase_if(keys_, [&](const auto& each) {
                   return each.first == key || each.first == "deepseek2." + key;
               }) > 0;
    }

    FileTensor* find(const std::string& name) {
        const auto at = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const FileTensor& t) { return t.name == name; });
        return at == tensors.end() ? nullptr : &*at;
    }
    // Removes and returns it.
    FileTensor take(const std::string& name) {
        const auto at = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const FileTensor& t) { return t.name == name; });
        if (at == tensors.end()) throw Error("no tensor " + name);
        FileTensor taken = std::move(*at);
        tensors.erase(at);
        return taken;
    }

    // What the file is made of, in order. Put together in memory, it cost half of a sanitized test.
    template <class Take>
    void in_pieces(const Take& take) const {
        const auto padding = [](std::size_t n) {
            return std::string((n + 31) / 32 * 32 - n, '\0');
        };
        std::string out = head(tensors.size(), keys_.size());
        for (const auto& [key, value] : keys_) out += text(key) + value;
        std::size_t size = 0;
        for (const FileTensor& each : tensors) {
            out += tensor(each.name, each.dims, static_cast<std::uint32_t>(each.type), size);
            size += each.bytes.size() + padding(each.bytes.size()).size();
        }
        take(out + padding(out.size()));
        for (const FileTensor& each : tensors) {
            take(each.bytes);
            take(padding(each.bytes.size()));
        }
    }

private:
    // Keys without a dot-separated family belong to the architecture.
    void set(const std::string& key, std::string value) {
        const bool general = key.rfind("general.", 0) == 0 || key.rfind("tokenizer.", 0) == 0;
        const std::string full = general ? key : "deepseek2." + key;
        erase(full);
        keys_.emplace_back(full, std::move(value));
    }
    std::vector<std::pair<std::string, std::string>> keys_;  // name, type and payload
};

// The file in memory, under a path that this process can open.
class OpenFile {
public:
    explicit OpenFile(const ModelFile& file) : descriptor_(memory_file("")) {
        file.in_pieces([&](std::string_view piece) { append_to(descriptor_, piece); });
    }
    ~OpenFile() { close(descriptor_); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

private:
    int descriptor_;
};

// Multiplies every weight by `factor`, through the block's scales.
inline void scale_weights(FileTensor& tensor, float factor) {
    const auto half = [&](char* at) {
        Half h;
        std::memcpy(&h, at, 2);
        h = float_to_half(half_to_float(h) * factor);
        std::memcpy(at, &h, 2);
    };
    const auto step = static_cast<std::size_t>(block_bytes(tensor.type));
    for (std::size_t i = 0; i < tensor.bytes.size(); i += step) {
        char* block = tensor.bytes.data() + i;
        float value = 0;
        switch (tensor.type) {
            case Type::f32:
                std::memcpy(&value, block, 4);
                value *= factor;
                std::memcpy(block, &value, 4);
                break;
            case Type::bf16:
                std::memcpy(reinterpret_cast<char*>(&value) + 2, block, 2);
                value *= factor;
                std::memcpy(block, reinterpret_cast<char*>(&value) + 2, 2);
                break;
            case Type::q6_k:
                half(block + step - 2);
                break;
            case Type::q4_1:
            case Type::q5_1:
            case Type::q4_k:
            case Type::q5_k:
                half(block + 2);
                [[fallthrough]];
            default:
                half(block);
        }
    }
}

// A random matrix whose values have a root mean square of `rms`.
inline FileTensor random_tensor(std::string name, Type type, std::vector<std::uint64_t> dims,
                                double rms, Random& random) {
    FileTensor made{std::move(name), type, std::move(dims), ""};
    std::int64_t rows = 1;
    for (std::size_t i = 1; i < made.dims.size(); ++i)
        rows *= static_cast<std::int64_t>(made.dims[i]);
    made.bytes.resize(static_cast<std::size_t>(rows * row_bytes(type, made.cols())));
    fill_weights(type, random, rows, made.cols(), reinterpret_cast<std::byte*>(made.bytes.data()));
    double squares = 0;
    const std::vector<float> values = made.values();
    for (const float v : values) squares += static_cast<double>(v) * static_cast<double>(v);
    scale_weights(
        made, static_cast<float>(rms / std::sqrt(squares / static_cast<double>(values.size()))));
    return made;
}

// A model of these sizes as a file, and as the plain program over the same weights. `type_of` picks
// each matrix's type by name; rows that its blocks do not divide become F16.
struct MadeModel {
    ModelFile file;
    plain::Model plain;
};

template <class TypeOf>
MadeModel make_model(const plain::Sizes& s, std::uint64_t seed, TypeOf type_of) {
    MadeModel made;
    made.plain.sizes = s;
    Random random(seed);
    const auto n = [](int value) { return static_cast<std::uint64_t>(value); };
    const auto matrix = [&](const std::string& name, double gain,
                            const std::vector<std::uint64_t>& dims) {
        Type type = type_of(name);
        const auto cols = static_cast<std::int64_t>(dims[0]);
        if (cols % block_values(type) != 0) type = Type::f16;
        made.file.tensors.push_back(random_tensor(
            name, type, dims, gain / std::sqrt(static_cast<double>(dims[0])), random));
        made.plain.weights[name] = made.file.tensors.back().values();
    };
    const auto vector = [&](const std::string& name, int size, float mean) {
        std::vector<float> values(n(size));
        for (float& v : values) v = mean + random.uniform(-0.2F, 0.2F);
        made.file.tensors.push_back(float_tensor(name, {n(size)}, values));
        made.plain.weights[name] = values;
    };
    matrix("token_embd.weight", s.tied ? 0.3 : std::sqrt(s.dim), {n(s.dim), n(s.vocab)});
    for (int i = 0; i < s.blocks; ++i) {
        const std::string b = fmt::format("blk.{}.", i);
        vector(b + "attn_norm.weight", s.dim, 1);
        if (s.q_rank == 0) {
            matrix(b + "attn_q.weight", 2, {n(s.dim), n(s.heads * s.head())});
        } else {
            matrix(b + "attn_q_a.weight", 1, {n(s.dim), n(s.q_rank)});
            vector(b + "attn_q_a_norm.weight", s.q_rank, 1);
            matrix(b + "attn_q_b.weight", 2, {n(s.q_rank), n(s.heads * s.head())});
        }
        matrix(b + "attn_kv_a_mqa.weight", 1, {n(s.dim), n(s.kv_rank + s.rot)});
        vector(b + "attn_kv_a_norm.weight", s.kv_rank, 1);
        matrix(b + "attn_k_b.weight", 1, {n(s.nope), n(s.kv_rank), n(s.heads)});
        matrix(b + "attn_v_b.weight", 1, {n(s.kv_rank), n(s.value), n(s.heads)});
        matrix(b + "attn_output.weight", 1.5, {n(s.heads * s.value), n(s.dim)});
        vector(b + "ffn_norm.weight", s.dim, 1);
        const std::vector<float> k_b = made.plain.weights[b + "attn_k_b.weight"];
        std::vector<float>& k = made.plain.weights[b + "k"];  // [heads][nope][kv_rank]
        for (int h = 0; h < s.heads; ++h) {
            for (int r = 0; r < s.nope; ++r) {
                for (int l = 0; l < s.kv_rank; ++l) {
                    k.push_back(k_b[n((h * s.kv_rank + l) * s.nope + r)]);
                }
            }
        }
        if (i < s.dense) {
            matrix(b + "ffn_gate.weight", 1, {n(s.dim), n(s.ff)});
            matrix(b + "ffn_up.weight", 1, {n(s.dim), n(s.ff)});
            matrix(b + "ffn_down.weight", 2, {n(s.ff), n(s.dim)});
            continue;
        }
        matrix(b + "ffn_gate_inp.weight", 2, {n(s.dim), n(s.experts)});
        if (s.bias) vector(b + "exp_probs_b.bias", s.experts, 0);
        matrix(b + "ffn_gate_exps.weight", 1, {n(s.dim), n(s.expert_ff), n(s.experts)});
        matrix(b + "ffn_up_exps.weight", 1, {n(s.dim), n(s.expert_ff), n(s.experts)});
        matrix(b + "ffn_down_exps.weight", 2, {n(s.expert_ff), n(s.dim), n(s.experts)});
        if (s.shared == 0) continue;
        matrix(b + "ffn_gate_shexp.weight", 1, {n(s.dim), n(s.shared * s.expert_ff)});
        matrix(b + "ffn_up_shexp.weight", 1, {n(s.dim), n(s.shared * s.expert_ff)});
        matrix(b + "ffn_down_shexp.weight", 2, {n(s.shared * s.expert_ff), n(s.dim)});
    }
    vector("output_norm.weight", s.dim, 1);
    if (!s.tied) matrix("output.weight", 2, {n(s.dim), n(s.vocab)});

    ModelFile& f = made.file;
    const auto set = [&](const char* key, int value) {
        f.set_u32(key, static_cast<std::uint32_t>(value));
    };
    f.set_text("general.architecture", "deepseek2");
    set("block_count", s.blocks);
    set("context_length", 4096);
    set("embedding_length", s.dim);
    set("feed_forward_length", s.ff);
    set("leading_dense_block_count", s.dense);
    set("attention.head_count", s.heads);
    set("attention.head_count_kv", 1);
    f.set_f32("attention.layer_norm_rms_epsilon", static_cast<float>(s.epsilon));
    if (s.q_rank != 0) set("attention.q_lora_rank", s.q_rank);
    set("attention.kv_lora_rank", s.kv_rank);
    set("attention.key_length", s.kv_rank + s.rot);
    set("attention.value_length", s.kv_rank);
    set("attention.key_length_mla", s.head());
    set("attention.value_length_mla", s.value);
    set("rope.dimension_count", s.rot);
    f.set_f32("rope.freq_base", static_cast<float>(s.base));
    if (s.yarn) {
        f.set_text("rope.scaling.type", "yarn");
        f.set_f32("rope.scaling.factor", static_cast<float>(s.yarn->factor));
        set("rope.scaling.original_context_length", static_cast<int>(s.yarn->original_context));
        f.set_f32("rope.scaling.yarn_log_multiplier", static_cast<float>(s.yarn->log_multiplier));
    }
    if (s.experts > 0) {
        set("expert_count", s.experts);
        set("expert_used_count", s.used);
        set("expert_shared_count", s.shared);
        set("expert_gating_func", s.sigmoid ? 2 : 1);
        f.set_f32("expert_weights_scale", static_cast<float>(s.scale));
        f.set_bool("expert_weights_norm", s.normalise);
    }
    set("expert_feed_forward_length", s.expert_ff);
    return made;
}

}  // namespace steady::test
