// One variant, one shape, one seed: everything that can be said about it without a clock.
#include "kernels/cases/check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

constexpr std::uint8_t kNanFill = 0xFF;  // as float: NaN
constexpr std::uint8_t kOtherFill = 0x5A;

CheckResult failed(std::string message, double worst_error = 0) {
    return {CheckOutcome::failed, std::move(message), worst_error};
}

std::string first_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin());
    return "first at output byte " + std::to_string(at - a.begin()) + " of " +
           std::to_string(a.size());
}

std::string shortened(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

}  // namespace

PackedWeights::PackedWeights(Trial& trial, const VariantBase& variant) : trial_(&trial) {
    if (variant.pack == nullptr) return;
    for (const WeightRef& weight : *trial.weights) pack(weight, variant);
}

void PackedWeights::pack(const WeightRef& weight, const VariantBase& variant) {
    const std::int64_t cols = weight.shape.cols;
    const std::int64_t chunk_bytes =
        variant.packed_bytes({variant.pack_rows, cols, weight.shape.type});
    // A GPU's loads of 16 bytes begin at multiples of 16, as an arm's weights do.
    const std::int64_t unit = variant.on_gpu() ? 64 : 1;
    const std::int64_t packed = variant.packed_bytes(weight.shape);
    EdgeBuffer buffer(static_cast<std::size_t>((packed + unit - 1) / unit * unit));
    for (const Range& used : weight.used) {
        const MatrixShape part{used.end - used.begin, cols, weight.shape.type};
        const std::byte* src = weight.data + used.begin * weight.row_bytes;
        std::byte* dst = buffer.data() + used.begin / variant.pack_rows * chunk_bytes;
        variant.pack(part, src, dst);
        // The last chunk, which may have fewer rows.
        const std::int64_t before = (part.rows - 1) / variant.pack_rows * variant.pack_rows;
        const MatrixShape rest{part.rows - before, cols, weight.shape.type};
        std::vector<std::byte> last(static_cast<std::size_t>(variant.packed_bytes(rest)));
        variant.pack(rest, src + before * weight.row_bytes, last.data());
        linear_ = linear_ && std::equal(last.begin(), last.end(),
                                        dst + before / variant.pack_rows * chunk_bytes);
    }
    weight.set(buffer.data());
    hashes_.push_back(hash_bytes(buffer.data(), buffer.size()));
    buffers_.push_back(std::move(buffer));
}

PackedWeights::~PackedWeights() {
    for (const WeightRef& weight : *trial_->weights) weight.set(weight.data);
}

bool PackedWeights::unchanged() const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        if (hashes_[i] != hash_bytes(buffers_[i].data(), buffers_[i].size())) return false;
    }
    return true;
}

void run_whole(const Trial& trial, const VariantBase& variant) {
    for (std::size_t phase = 0; phase < trial.phase_rows.size(); ++phase) {
        trial.run(variant, {0, trial.phase_rows[phase], static_cast<int>(phase)});
    }
    if (variant.on_gpu()) gpu::finish();
}

void run_cut(const Trial& trial, const VariantBase& variant, std::int64_t pieces) {
    for (std::size_t phase = 0; phase < trial.phase_rows.size(); ++phase) {
        const std::int64_t rows = trial.phase_rows[phase];
        const std::int64_t granule = std::min(variant.granule, std::max<std::int64_t>(rows, 1));
        const std::int64_t n_granules = (rows + granule - 1) / granule;
        for (std::int64_t i = pieces - 1; i >= 0; --i) {
            const std::int64_t begin = std::min(rows, n_granules * i / pieces * granule);
            const std::int64_t end = std::min(rows, n_granules * (i + 1) / pieces * granule);
            if (begin < end) trial.run(variant, {begin, end, static_cast<int>(phase)});
        }
    }
    if (variant.on_gpu()) gpu::finish();
}

namespace {

// The case's memory and the packed weights, where a GPU variant can reach them.
std::vector<gpu::Registered> reachable_memory(const CaseMemory& memory, const PackedWeights& packed,
                                              const VariantBase& variant) {
    std::vector<gpu::Registered> all;
    if (!variant.on_gpu()) return all;
    for (const EdgeBuffer* buffer : memory.buffers()) {
        all.emplace_back(buffer->data(), buffer->size());
    }
    for (const EdgeBuffer& buffer : packed.buffers()) {
        all.emplace_back(buffer.data(), buffer.size());
    }
    return all;
}

CheckResult checked(const VariantBase& variant, Trial& trial,
                    const std::vector<std::int64_t>& cuts) {
    CaseMemory& memory = *trial.memory;
    if (variant.weight_rounding > 0) {
        if (!trial.allow_weight_rounding) return failed("this op's weights may not be rounded");
        trial.allow_weight_rounding(variant.weight_rounding);
    }
    const PackedWeights packed(trial, variant);
    const std::vector<gpu::Registered> reachable = reachable_memory(memory, packed, variant);
    if (!packed.linear()) return failed("packing in chunks differs from packing whole");

    memory.prepare(kNanFill);
    run_whole(trial, variant);
    const std::vector<std::byte> first = memory.outputs();
    if (!memory.guards_intact()) return failed("wrote outside its outputs (guard bytes changed)");
    const double worst = trial.worst_error();
    if (!(worst <= 1)) return failed("error is " + shortened(worst) + " times its bound", worst);
    memory.prepare(kOtherFill);
    run_whole(trial, variant);
    const std::vector<std::byte> second = memory.outputs();
    if (second != first) {
        return failed("output not fully written, or not the same bits when run twice; " +
                      first_difference(first, second));
    }
    for (const std::int64_t pieces : cuts) {
        memory.prepare(kNanFill);
        run_cut(trial, variant, pieces);
        const std::vector<std::byte> cut = memory.outputs();
        if (cut != first) {
            return failed("other bits when cut in " + std::to_string(pieces) + "; " +
                          first_difference(first, cut));
        }
    }
    if (!memory.guards_intact()) return failed("wrote outside its outputs (guard bytes changed)");
    if (!memory.inputs_unchanged() || !packed.unchanged()) return failed("changed an input");
    return {CheckOutcome::passed, "", worst};
}

}  // namespace

CheckResult ShapeCheck::operator()(const VariantBase& variant) {
    const std::string reason = op_->why_not(variant, shape_);
    if (!reason.empty()) return {CheckOutcome::skipped, reason, 0};
    std::unique_ptr<Trial>& trial = trials_[variant.input];
    const bool own_bounds = variant.weight_rounding > 0;
    if (!trial || own_bounds) trial = op_->trial(shape_, seed_, variant.input);
    CheckResult result;
    try {
        result = checked(variant, *trial, cuts_);
    } catch (const Error& error) {
        if (!variant.on_gpu()) throw;
        result = failed(error.what());  // what a kernel did to the GPU
    }
    // One that failed may have changed what the next would read.
    if (own_bounds || result.outcome == CheckOutcome::failed) trial.reset();
    return result;
}

CheckResult check_variant(const OpInfo& op, const VariantBase& variant, std::string_view shape,
                          std::uint64_t seed) {
    return ShapeCheck(op, std::string(shape), seed)(variant);
}

std::vector<std::string> check_shapes(const OpInfo& op, std::uint64_t seed) {
    std::vector<std::string> shapes = op.checked_shapes();
    Random random(seed);
    for (const std::string& shape : op.odd_shapes(random)) {
        if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    }
    return shapes;
}

}  // namespace steady
