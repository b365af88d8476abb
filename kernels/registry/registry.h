// Variants register themselves when the program starts; this is where they are found again. The
// engine looks them up by op type and name, the check and bench tools walk all ops without knowing
// any of them (kernels/cases/op_info.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/cpu.h"
#include "kernels/registry/range.h"
#include "kernels/registry/shape.h"

namespace steady {

class Random;  // kernels/cases/random.h
// What a check or a benchmark runs an op on. Ops declare functions that make cases; only op.cpp
// needs the definition, in kernels/cases/case.h.
template <class Op>
struct Case;

// What one run of an op moves and computes, from the shape alone.
struct Cost {
    std::int64_t weight_bytes = 0;  // weights or cache: read once per call, cold in a real model
    std::int64_t other_bytes = 0;   // activations in and out
    double flops = 0;
};

// A matrix of weights: `rows` rows of `cols` values. The type is told to variants that take
// several.
struct MatrixShape {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    Type type = Type::q4_0;
};

// What every op's variants have in common.
struct VariantBase {
    std::string_view op;
    std::string_view name;
    std::string_view file;  // the source file that registered it
    cpu::Features needs;
    // Of the GPU that it runs on, the least compute capability, times ten; 0: it runs on the CPU.
    // Then its pointers are the GPU's, and `run` only enqueues (kernels/runtime/gpu.h).
    int compute = 0;
    bool persistent = false;   // all that it enqueues can be tasks of one launch
    std::int64_t granule = 1;  // ranges are cut at multiples of this; kWhole: never
    Input input = Input::f32;  // the form of the activations it reads

    // How it wants each weight matrix; "gguf" means as in the file, and then pack is null. Packing
    // is linear in rows: chunks of pack_rows rows, packed one after the other, give the same bytes
    // as the whole matrix, so weights can be packed while they are read.
    std::string_view layout = "gguf";
    std::int64_t pack_rows = 1;
    std::int64_t (*packed_bytes)(MatrixShape) = nullptr;
    void (*pack)(MatrixShape, const std::byte* src, std::byte* dst) = nullptr;
    double weight_rounding = 0;  // relative error that packing leaves in a weight; 0: exact

    bool on_gpu() const { return compute != 0; }
};

template <class Op>
struct VariantInfo : VariantBase {
    bool (*supports)(const typename Op::Shape&) = nullptr;  // null: every shape
    typename Op::Run run = nullptr;
};

// The fields that a variant's file states; see VariantBase for their meaning.
template <class Op>
struct VariantOptions {
    cpu::Features needs = cpu::none;
    int compute = 0;
    bool persistent = false;
    bool (*supports)(const typename Op::Shape&) = nullptr;
    std::int64_t granule = 1;
    Input input = Input::f32;
    std::string_view layout = "gguf";
    std::int64_t pack_rows = 1;
    std::int64_t (*packed_bytes)(MatrixShape) = nullptr;
    void (*pack)(MatrixShape, const std::byte* src, std::byte* dst) = nullptr;
    double weight_rounding = 0;
    typename Op::Run run = nullptr;
};

// Non-template half of registration: keeps the list of all variants of all ops.
void register_variant(const VariantBase* variant);

// All variants of an op, `reference` first, then by name.
std::vector<const VariantBase*> variants_of(std::string_view op);

// Every op that has a variant, by name.
std::vector<std::string_view> op_names();

// "avx2, avx512_vnni, reference"
std::string choices(const std::vector<const VariantBase*>& variants);

// The choice closest to a misspelt name, empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string_view>& names);

// Registers a variant: one static object of this type per variant file.
template <class Op>
class Variant {
public:
    Variant(const char* name, const VariantOptions<Op>& options,
            const char* file = __builtin_FILE()) {
        info_.op = Op::name;
        info_.name = name;
        info_.file = file;
        info_.needs = options.needs;
        info_.compute = options.compute;
        info_.persistent = options.persistent;
        info_.granule = options.granule;
        info_.input = options.input;
        info_.layout = options.layout;
        info_.pack_rows = options.pack_rows;
        info_.packed_bytes = options.packed_bytes;
        info_.pack = options.pack;
        info_.weight_rounding = options.weight_rounding;
        info_.supports = options.supports;
        info_.run = options.run;
        register_variant(&info_);
    }
    Variant(const Variant&) = delete;
    Variant& operator=(const Variant&) = delete;

private:
    VariantInfo<Op> info_;
};

// A variant, or the reason why there is none by that name, with the choices.
template <class Op>
struct FoundVariant {
    const VariantInfo<Op>* variant = nullptr;
    std::string error;
};

std::string unknown_variant(std::string_view op, std::string_view name);

template <class Op>
FoundVariant<Op> find_variant(std::string_view name) {
    for (const VariantBase* base : variants_of(Op::name)) {
        // Only Variant<Op> registers under Op::name, so the object is a VariantInfo<Op>.
        if (base->name == name) return {static_cast<const VariantInfo<Op>*>(base), ""};
    }
    return {nullptr, unknown_variant(Op::name, name)};
}

std::string unusable_variant(const VariantBase& variant, const std::string& reason);

// What the variant needs and this machine lacks, as a reason; empty when it can run here.
std::string lacking(const VariantBase& variant);

// Why this variant cannot run this shape here; empty when it can.
template <class Op>
std::string why_not(const VariantInfo<Op>& variant, const typename Op::Shape& shape) {
    if (const std::string lacks = lacking(variant); !lacks.empty()) {
        return unusable_variant(variant, lacks);
    }
    if (variant.supports != nullptr && !variant.supports(shape)) {
        return unusable_variant(variant, "it does not support " + to_text(shape));
    }
    return "";
}

}  // namespace steady
