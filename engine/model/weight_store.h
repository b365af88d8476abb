// The memory that holds a model's weights, once per process however many arms read it. Tensors are
// first placed (which gives addresses), then loaded all together: read straight into huge pages,
// and packed on the way when a variant wants another layout, so that weights never lie there twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "kernels/base/registry.h"

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
};

class WeightStore {
public:
    // Reserves address space, not memory. Error if the system refuses.
    explicit WeightStore(const GgufFile& file);
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    // Where the bytes will be after load(); the same placement twice gives the same address.
    const std::byte* place(const Placement& placement);
    static std::int64_t bytes_of(const Placement& placement);
    // Reads and packs what was placed since the last load, on `threads` threads. Error with the
    // arithmetic shown if it does not fit into available memory.
    void load(int threads);

    std::int64_t bytes() const { return used_; }  // placed, all layouts together
    const std::byte* base() const { return base_; }

private:
    struct Item {
        Placement placement;
        std::byte* data;
        std::int64_t bytes;
    };
    void load_item(const Item& item) const;
    void load_rows(const Item& item, std::int64_t group, std::int64_t first, std::int64_t n,
                   std::byte* dst) const;
    void load_transposed(const Item& item, std::int64_t group) const;

    const GgufFile* file_;
    std::byte* base_ = nullptr;
    std::int64_t reserved_ = 0;
    std::int64_t used_ = 0;
    std::int64_t loaded_ = 0;  // bytes of the items that are loaded
    std::map<std::string, std::byte*> known_;
    std::vector<Item> waiting_;
};

// Memory that the system could give now, and what this process holds, in bytes.
std::int64_t available_memory_bytes();
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

// "17.1 GB" for people.
std::string human_bytes(std::int64_t bytes);

}  // namespace steady
