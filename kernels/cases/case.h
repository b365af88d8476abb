// The inputs and outputs of one check or benchmark, in memory that notices misuse: every block ends
// at an unmapped page, outputs are surrounded by guard bytes and start as NaN, inputs are compared
// with a copy. One owner for check and bench, so that what is timed is what was checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cases/random.h"
#include "kernels/registry/registry.h"

namespace steady {

enum class Role {
    weights,  // input that is cold in a real model (quantised matrices, the cache)
    input,    // input that is warm
    output,   // written whole by a run; its old contents are NaN
    in_out,   // read and written; restored before each run
    scratch,  // may be written, may be left alone
};

// `bytes` of memory whose last byte lies before an unmapped page. Zero at first; pages that nobody
// touches cost nothing.
class EdgeBuffer {
public:
    explicit EdgeBuffer(std::size_t bytes);
    ~EdgeBuffer();
    EdgeBuffer(EdgeBuffer&& other) noexcept;
    EdgeBuffer(const EdgeBuffer&) = delete;
    EdgeBuffer& operator=(const EdgeBuffer&) = delete;
    EdgeBuffer& operator=(EdgeBuffer&&) = delete;
    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// A quick hash, to notice changes.
std::uint64_t hash_bytes(const std::byte* data, std::size_t n);

class CaseMemory {
public:
    // n zeroed values. Fill weights, inputs and in_outs, then call seal() once.
    template <class T>
    T* add(Role role, std::int64_t n) {
        return reinterpret_cast<T*>(add_bytes(role, static_cast<std::size_t>(n) * sizeof(T)));
    }

    void seal();                             // remembers inputs as they are now
    void prepare(std::uint8_t prefill);      // outputs filled with this byte, in_outs restored
    std::vector<std::byte> outputs() const;  // all outputs and in_outs, joined
    bool inputs_unchanged() const;
    bool guards_intact() const;
    std::vector<const EdgeBuffer*> buffers() const;

private:
    struct Block {
        Role role;
        EdgeBuffer buffer;
        std::size_t bytes;  // without guards
        std::byte* data;
        std::vector<std::byte> initial;     // inputs and in_outs
        std::optional<std::uint64_t> hash;  // weights: too large to copy
    };
    std::byte* add_bytes(Role role, std::size_t bytes);
    std::vector<Block> blocks_;
};

// A weight matrix of a case: where Args points to it, and how to point it elsewhere (at a packed or
// a second, cold copy). Only `used` row ranges are ever read (a few experts of many).
struct WeightRef {
    MatrixShape shape;
    std::int64_t row_bytes = 0;
    const std::byte* data = nullptr;
    std::function<void(const std::byte*)> set;
    std::vector<Range> used;
};

// All rows of a weight matrix are used.
WeightRef whole_matrix(Type type, std::int64_t rows, std::int64_t cols, const std::byte* data);

// One op at one shape with inputs and the expected result.
template <class Op>
struct Case {
    CaseMemory memory;
    typename Op::Args args;
    Input input = Input::f32;  // the form it was made for
    std::vector<WeightRef> weights;
    std::vector<double> expected;   // in high precision, for the input form the case was made for
    std::vector<double> bound;      // absolute: what a correct implementation cannot exceed
    std::vector<double> magnitude;  // Σ|w·x| per output, of ops whose weights may be rounded
};

// Largest |out - expected| / bound; infinity for a NaN. A zero bound asks for equality.
double worst_ratio(const float* out, const std::vector<double>& expected,
                   const std::vector<double>& bound);

// Weights as a model has them: random quants, scales that vary by block, now and then a zero or an
// extreme block. Bytes of `rows` rows of `cols` values at dst.
void fill_weights(Type type, Random& random, std::int64_t rows, std::int64_t cols, std::byte* dst);

// Values in [-1, 1] times a per-block magnitude, with zero blocks now and then.
void fill_activations(Random& random, float* x, std::int64_t n);

// The q8 form of n values, in plain code.
void quantize_plain(const float* x, std::int64_t n, std::int8_t* q8, float* scale,
                    std::int32_t* sum);

// The second bytes of the q16 form, for a q8 form that is there already, and the blocks' sums.
void refine_plain(const float* x, std::int64_t n, const std::int8_t* q8, const float* scale,
                  std::int8_t* low, std::int32_t* sum16);

// Adds an activation of n values to a case, all forms filled.
Activation add_activation(CaseMemory& memory, Random& random, std::int64_t n);

// The activation as the given input form stands for it, in double.
std::vector<double> values_of(const Activation& x, std::int64_t n, Input input);

// Unit roundoff of float.
constexpr double kUnit = 0x1p-24;

}  // namespace steady
