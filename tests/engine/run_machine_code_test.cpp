// The machine code of the variants that are defaults on a GPU, as nvcc made it for compute
// capability 9.0: weights are loaded 16 bytes at a time, and registers are not spilled to local
// memory beyond what is known. It needs no GPU.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/exec/champions.h"
#include "kernels/tool/gpu_code.h"
#include "kernels/tool/gpu_disasm.h"
#include "kernels/tool/program.h"

namespace steady {
namespace {

using tool::GpuKernel;

constexpr int kHopper = 90;

// Instructions that touch local memory, of CUDA 13.0's compiler. A kernel that is not here has
// none. Fewer are welcome: lower the number. More are a reason to look at the change that made
// them.
const std::map<std::string, int> kLocal = {
    {"body_kernel<AttentionBody<false, Lane, 2> >", 13},
    {"body_kernel<AttentionBody<true, Lane, 2> >", 10},
    {"body_kernel<PartsBody<__half> >", 6},
    {"body_kernel<PartsBody<__nv_bfloat16> >", 6},
    {"body_kernel<PolledAttentionBody<__nv_bfloat16> >", 10},
    {"body_kernel<ProductsBody<2, -1, 1> >", 2},
    {"body_kernel<ProductsBody<2, 4, 4> >", 94},
    {"body_kernel<ProductsBody<5, -1, 1> >", 9},
    {"body_kernel<QueryBody<__half, false> >", 16},
    {"body_kernel<QueryBody<__half, true> >", 12},
    {"body_kernel<QueryBody<__nv_bfloat16, false> >", 16},
    {"body_kernel<QueryBody<__nv_bfloat16, true> >", 12},
    {"body_kernel<TokenRowBody>", 31},  // a row of any type is decoded in an array
    {"body_kernel<WideBody<__half> >", 8},
    {"body_kernel<WideBody<__nv_bfloat16> >", 8},
    {"tiles_kernel<(Form)3, 2>", 2},
    {"tiles_kernel<(Form)4, 2>", 2},
    {"mla_kernel<AnyUnit, AnyUnit, true>", 21},  // a folded query whose matrices differ: no default
};

// Kernels that read no packed weights.
const std::set<std::string> kNarrow = {"add_kernel",
                                       "cuda_block::greedy_kernel",
                                       "cuda_cluster::greedy_kernel",
                                       "choose_kernel",
                                       "copy_kernel",
                                       "rows_kernel",
                                       "sort_kernel",
                                       "float_tiles_kernel<16>",
                                       "float_tiles_kernel<64>"};

// Each kernel that a default can launch, once.
std::map<std::string, GpuKernel> kernels_of_defaults() {
    static const tool::GpuCode code = tool::gpu_code(tool::program_bytes());
    std::map<std::string, GpuKernel> all;
    for (const Champion& champion : champions()) {
        const OpInfo* op = find_op(champion.op);
        if (op == nullptr) continue;  // a step
        for (const VariantBase* variant : variants_of(op->name)) {
            if (variant->name != champion.variant || !variant->on_gpu()) continue;
            const tool::VariantKernels found = tool::kernels_of(*op, *variant, code);
            EXPECT_FALSE(found.kernels.empty()) << op->name << "/" << variant->name;
            for (const GpuKernel& kernel : found.kernels) {
                if (kernel.compute == kHopper) all[tool::short_name(kernel.name)] = kernel;
            }
        }
    }
    return all;
}

class MachineCode : public testing::Test {
protected:
    void SetUp() override {
        if (kernels_.empty()) GTEST_SKIP() << "this build has no GPU variants for 9.0";
    }
    const std::map<std::string, GpuKernel> kernels_ = kernels_of_defaults();
};

TEST_F(MachineCode, OfDefaultsTouchesLocalMemoryNoMoreThanIsKnown) {
    EXPECT_GT(kernels_.size(), 50U);
    for (const auto& [name, kernel] : kernels_) {
        const auto known = kLocal.find(name);
        const int most = known == kLocal.end() ? 0 : known->second;
        EXPECT_LE(kernel.counts.local_loads + kernel.counts.local_stores, most)
            << name << " with " << kernel.registers << " registers; `steady-kernels disasm`";
    }
    for (const auto& [name, most] : kLocal) {
        EXPECT_TRUE(kernels_.contains(name)) << name << " is no default's kernel: remove its line";
    }
}

TEST_F(MachineCode, OfDefaultsLoadsWeightsInPiecesOfSixteenBytes) {
    for (const auto& [name, kernel] : kernels_) {
        EXPECT_EQ(kernel.counts.loads[0], 0) << name << " loads single bytes";
        const int wide = kernel.counts.loads[4] + kernel.counts.copies[4];
        if (kNarrow.contains(name)) continue;
        EXPECT_GT(wide, 0) << name << " has no load of 16 bytes";
    }
    for (const std::string& name : kNarrow) {
        EXPECT_TRUE(kernels_.contains(name)) << name << " is no default's kernel: remove it";
    }
}

}  // namespace
}  // namespace steady
