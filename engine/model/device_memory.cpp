// Allocation, and the walk over a model's pointers.
#include "engine/model/device_memory.h"

#include <cstring>
#include <new>

#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

constexpr std::align_val_t kDeviceAlignment{256};

}  // namespace

DeviceMemory::DeviceMemory(bool on_gpu, std::int64_t bytes) : on_gpu_(on_gpu), bytes_(bytes) {
    if (on_gpu) {
        data_ = static_cast<std::byte*>(gpu::allocate(bytes));
        gpu::fill_zero(data_, bytes);
        return;
    }
    const auto size = static_cast<std::size_t>(bytes);
    data_ = static_cast<std::byte*>(::operator new(size, kDeviceAlignment));
    std::memset(data_, 0, size);
}

DeviceMemory::~DeviceMemory() {
    if (on_gpu_) {
        gpu::release(data_);
    } else {
        ::operator delete(data_, kDeviceAlignment);
    }
}

void DeviceMemory::write(const void* from, std::int64_t bytes) {
    if (on_gpu_) return gpu::upload(data_, from, bytes);
    std::memcpy(data_, from, static_cast<std::size_t>(bytes));
}

std::vector<float> floats_at(bool on_gpu, const float* from, std::int64_t n) {
    if (!on_gpu) return {from, from + n};
    std::vector<float> values(static_cast<std::size_t>(n));
    gpu::download(values.data(), from, n * static_cast<std::int64_t>(sizeof(float)));
    return values;
}

const std::byte* DeviceWeights::copy_of(const std::byte* host, std::int64_t bytes) {
    std::unique_ptr<DeviceMemory>& copy = copies_[host];
    if (!copy) {
        copy = std::make_unique<DeviceMemory>(true, bytes);
        copy->write(host, bytes);
    }
    return copy->as<const std::byte>();
}

Weights DeviceWeights::on_gpu(const Weights& host, const Config& c) {
    Weights weights = host;
    const auto matrix = [&](Matrix& m) {
        if (m.present()) m.data = copy_of(m.data, m.groups * m.group_bytes);
    };
    const auto vector = [&](const float*& v, std::int64_t n) {
        if (v == nullptr) return;
        const auto bytes = n * static_cast<std::int64_t>(sizeof(float));
        v = reinterpret_cast<const float*>(copy_of(reinterpret_cast<const std::byte*>(v), bytes));
    };
    matrix(weights.token_embd);
    matrix(weights.output);
    vector(weights.output_norm, c.dim);
    for (Block& b : weights.blocks) {
        for (Matrix* m :
             {&b.attn_q, &b.attn_q_a, &b.attn_q_b, &b.attn_q_rot, &b.attn_q_folded,
              &b.attn_kv_a_mqa, &b.attn_k_b, &b.attn_v_b, &b.attn_output, &b.ffn_gate, &b.ffn_up,
              &b.ffn_down, &b.ffn_gate_inp, &b.ffn_gate_exps, &b.ffn_up_exps, &b.ffn_down_exps}) {
            matrix(*m);
        }
        vector(b.attn_norm, c.dim);
        vector(b.attn_q_a_norm, c.q_rank);
        vector(b.attn_kv_a_norm, c.kv_rank);
        vector(b.ffn_norm, c.dim);
        vector(b.exp_probs_b, c.n_experts);
    }
    return weights;
}

}  // namespace steady
