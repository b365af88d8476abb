// Weights that are not in the cache when a kernel meets them, as in a model, where between two uses
// of a matrix all the others are read. Calls take turns over enough copies to exceed the cache, or
// each has a copy of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cases/op_info.h"

namespace steady::tool {

// Bytes of `rows` rows in the layout of `variant`.
std::int64_t bytes_in_layout(const WeightRef& weight, const VariantBase& variant,
                             std::int64_t rows);

class ColdWeights {
public:
    // Copies of the trial's weights in the layout of `variant`; one copy when `warm` is set or the
    // op has no weights. No more than there will be `calls`, where the caller knows.
    ColdWeights(Trial& trial, const VariantBase& variant, bool warm,
                std::size_t calls = std::numeric_limits<std::size_t>::max());
    ~ColdWeights();
    ColdWeights(const ColdWeights&) = delete;
    ColdWeights& operator=(const ColdWeights&) = delete;

    std::size_t copies() const { return n_copies_; }
    // Bytes of the used weights in the variant's layout over those in the file's; 1 without
    // weights.
    double layout_ratio() const { return layout_ratio_; }
    void use(std::size_t call);  // points the trial's Args at copy call % copies()

private:
    struct Mapping {
        void* address = nullptr;
        std::size_t bytes = 0;
        std::vector<std::size_t> offsets;  // one per copy
    };
    void fill(Mapping& mapping, const WeightRef& weight, const VariantBase& variant);
    void evict(const Mapping& mapping) const;
    Trial* trial_;
    std::size_t n_copies_ = 1;
    double layout_ratio_ = 1;
    std::vector<Mapping> mappings_;  // one per weight matrix
};

}  // namespace steady::tool
