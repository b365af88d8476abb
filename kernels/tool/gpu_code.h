// The machine code of GPU kernels, read from a program or from a file of nvcc's: what each kernel
// needs and how it loads. No tool of CUDA's and no GPU is needed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace steady::tool {

// Instructions of a kernel by kind. Widths are 1, 2, 4, 8 and 16 bytes per thread.
struct GpuCounts {
    int instructions = 0;         // without padding
    std::array<int, 5> loads{};   // from global memory, by width
    std::array<int, 5> copies{};  // from global to shared memory past the registers, by width
    int local_loads = 0, local_stores = 0;  // spilled registers, and arrays indexed by a variable
};
// "1", "2", "4", "8", "16" bytes: the widths above.
constexpr std::array<int, 5> kWidths = {1, 2, 4, 8, 16};

struct GpuKernel {
    std::string name;               // as in C++
    std::string mangled;            // as in the machine code
    int compute = 0;                // capability, times ten
    int registers = 0;              // per thread
    std::int64_t shared_bytes = 0;  // per block, as declared: a launch may add more
    std::int64_t stack_bytes = 0;   // of local memory, per thread
    GpuCounts counts;
    std::size_t image = 0;     // which of GpuCode::images holds it
    std::uint32_t symbol = 0;  // its index there
};

struct GpuCode {
    std::vector<std::string> images;  // ELF files of machine code, one per file and architecture
    std::vector<GpuKernel> kernels;
};

// Of a program or object file, or of one ELF file of machine code (nvcc -cubin). Error when code is
// compressed or not of the form that is known here.
GpuCode gpu_code(const std::vector<char>& file);

// Counts of one kernel's machine code. Instructions have 16 bytes since compute capability 7.0.
GpuCounts count_instructions(const char* code, std::size_t bytes);

// The name without what says that it is known in its file only, to compare names of host and GPU.
std::string demangled(const std::string& mangled);

}  // namespace steady::tool
