// The memory that holds a model's weights, once however many arms read it: private to the process,
// or in a memory file that the processes of one experiment hand on. What arms need is noted first,
// then room is made for exactly that, then everything is loaded together: read straight into huge
// pages, and packed on the way when a variant wants another layout, so that weights never lie there
// twice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "engine/model/shared_weights.h"
#include "kernels/registry/registry.h"

namespace steady {

// Which rows of a tensor to place, and in what form. Rows are counted over all the tensor's
// matrices; group g takes rows [g * group_stride + first_row, … + rows).
struct Placement {
    const Tensor* tensor = nullptr;
    std::int64_t groups = 1;
    std::int64_t rows = 0;  // per group
    std::int64_t group_stride = 0;
    std::int64_t first_row = 0;
    const VariantBase* packer = nullptr;  // null, or one without pack: as in the file
    bool transposed_f32 = false;          // each group [rows][cols] becomes float [cols][rows]
    // Not null: each group [rows][cols] becomes Q8_0 [times' rows][cols], the product of this
    // tensor's group [times' rows][rows] with it.
    const Tensor* times = nullptr;

    Type type() const;            // of the placed rows, before packing
    std::int64_t n_rows() const;  // of all groups, as placed
};

class WeightStore {
public:
    // shared_descriptor: of a memory file for the weights, or -1. Error: see SharedWeights.
    explicit WeightStore(const GgufFile& file, int shared_descriptor = -1);
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    // Where the bytes will be after load(): null until reserve() was called behind the first
    // place() of these bytes, and from then on always the same address.
    const std::byte* place(const Placement& placement);
    static std::int64_t bytes_of(const Placement& placement);
    // Makes room for what was placed since the last time. Error with the arithmetic shown if it
    // does not fit into available memory.
    void reserve();
    // Reads and packs what was reserved and is not there yet, on `threads` threads.
    void load(int threads);

    std::int64_t bytes() const { return bytes_; }          // placed, all layouts together
    std::int64_t loaded_bytes() const { return loaded_; }  // of them read by this process
    std::span<const std::byte> largest() const;            // stretch of weights

private:
    struct Item {
        Placement placement;
        std::string key;
        std::int64_t bytes;
        std::byte* data = nullptr;
    };
    void check_memory(std::int64_t needed) const;
    void forget_waiting();
    void reserve_private();
    void reserve_shared();
    void load_item(const Item& item) const;
    void load_rows(const Item& item, std::int64_t group, std::int64_t first, std::int64_t n,
                   std::byte* dst) const;
    void load_transposed(const Item& item, std::int64_t group) const;
    void load_product(const Item& item, std::int64_t group) const;
    std::vector<float> floats_of(const Tensor& tensor, std::int64_t first, std::int64_t n) const;

    const GgufFile* file_;
    std::unique_ptr<SharedWeights> shared_;
    std::int64_t bytes_ = 0, loaded_ = 0;
    std::map<std::string, std::byte*> known_;  // null: not reserved yet
    std::vector<Item> waiting_;
    struct Mapping {
        void* address;
        std::size_t bytes;
    };
    std::vector<Mapping> private_;
    std::vector<std::span<const std::byte>> stretches_;
};

// Memory that the system could give now, and what this process holds, in bytes.
std::int64_t available_memory_bytes();
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

// "17.1 GB" for people.
std::string human_bytes(std::int64_t bytes);

}  // namespace steady
