// Which kernels a GPU variant launches, and `disasm` of one.
#pragma once

#include <string>
#include <vector>

#include "kernels/cases/op_info.h"
#include "kernels/tool/gpu_code.h"
#include "kernels/tool/options.h"

namespace steady::tool {

struct VariantKernels {
    std::vector<GpuKernel> kernels;  // that the variant's host code names, for any shape
    bool launches_ptx = false;       // further ones are compiled when they run
};

// A kernel's name without what all of them share: "body_kernel<ProductsBody<2, 4, 1> >".
std::string short_name(std::string name);

// Error when this program is stripped, or without objdump.
VariantKernels kernels_of(const OpInfo& op, const VariantBase& variant, const GpuCode& code);

int run_gpu_disasm(const Options& options, const OpInfo& op, const VariantBase& variant);

}  // namespace steady::tool
