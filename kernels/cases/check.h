// The check that every variant must pass on every shape, and the only judge of "correct": the
// tests, `steady-kernels check` and the benchmarks (which refuse to time what fails) all call it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cases/op_info.h"

namespace steady {

enum class CheckOutcome { passed, failed, skipped };

struct CheckResult {
    CheckOutcome outcome = CheckOutcome::passed;
    std::string message;     // why it failed or was skipped; empty when passed
    double worst_error = 0;  // as a share of the bound; at most 1 passes
};

// Weights packed as `variant` wants them, in memory that ends at an unmapped page; the trial's
// Args point to them as long as this lives.
class PackedWeights {
public:
    PackedWeights(Trial& trial, const VariantBase& variant);
    ~PackedWeights();
    PackedWeights(const PackedWeights&) = delete;
    PackedWeights& operator=(const PackedWeights&) = delete;
    bool linear() const { return linear_; }  // packing in chunks gave the bytes of packing whole
    bool unchanged() const;
    const std::vector<EdgeBuffer>& buffers() const { return buffers_; }

private:
    void pack(const WeightRef& weight, const VariantBase& variant);
    Trial* trial_;
    std::vector<EdgeBuffer> buffers_;
    std::vector<std::uint64_t> hashes_;
    bool linear_ = true;
};

// Runs all phases whole, one after the other; on a GPU to its end.
void run_whole(const Trial& trial, const VariantBase& variant);

// Runs each phase cut in `pieces` at multiples of the variant's granule, last piece first.
void run_cut(const Trial& trial, const VariantBase& variant, std::int64_t pieces);

// Checks variants of an op at one shape. The case is made once for each form of input: what is
// expected, in double precision, takes longer than to check a variant.
class ShapeCheck {
public:
    ShapeCheck(const OpInfo& op, std::string shape, std::uint64_t seed,
               std::vector<std::int64_t> cuts = {2, 7})
        : op_(&op), shape_(std::move(shape)), seed_(seed), cuts_(std::move(cuts)) {}

    // The whole check: error within the op's bound, outputs fully written, guards intact, inputs
    // unchanged, same bits when run again and when cut in so many pieces. Skipped when the CPU
    // lacks a feature or the variant does not support the shape.
    CheckResult operator()(const VariantBase& variant);

    bool is_of(const OpInfo& op, std::string_view shape) const {
        return op_ == &op && shape_ == shape;
    }

private:
    const OpInfo* op_;
    std::string shape_;
    std::uint64_t seed_;
    std::vector<std::int64_t> cuts_;
    std::map<Input, std::unique_ptr<Trial>> trials_;
};

// The same for one variant alone.
CheckResult check_variant(const OpInfo& op, const VariantBase& variant, std::string_view shape,
                          std::uint64_t seed);

// What check and tests go through for an op: the model's shapes, then odd ones.
std::vector<std::string> check_shapes(const OpInfo& op, std::uint64_t seed);

}  // namespace steady
