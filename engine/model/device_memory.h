// Memory where an arm runs: of the host, or of the GPU. The forward that joins a block's ops orders
// work over such memory and never looks into it, which is why it serves both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/weights.h"

namespace steady {

class DeviceMemory {
public:
    DeviceMemory(bool on_gpu, std::int64_t bytes);  // zeros
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }
    std::int64_t bytes() const { return bytes_; }
    void write(const void* from, std::int64_t bytes);

private:
    bool on_gpu_;
    std::int64_t bytes_;
    std::byte* data_ = nullptr;
};

// n floats of an arm's device, on the host.
std::vector<float> floats_at(bool on_gpu, const float* from, std::int64_t n);

// The GPU's copies of weights, each made once however many arms read it.
class DeviceWeights {
public:
    // The same weights with every pointer into the GPU's memory.
    Weights on_gpu(const Weights& host, const Config& config);

private:
    const std::byte* copy_of(const std::byte* host, std::int64_t bytes);
    std::map<const std::byte*, std::unique_ptr<DeviceMemory>> copies_;
};

}  // namespace steady
