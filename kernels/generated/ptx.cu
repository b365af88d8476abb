// Loads PTX through the driver. Its functions are asked of the CUDA runtime by name, so that no
// program is linked with libcuda, which is only there where a driver is installed.
#include <cuda.h>

#include "kernels/generated/ptx.h"

namespace steady::cuda {
namespace {

// A driver's function of CUDA 12, by name; null where the driver lacks it.
template <class Function>
Function driver_function(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
    return reinterpret_cast<Function>(found);
}

// The driver's errors have the numbers of the runtime's.
cudaError_t as_runtime(CUresult result) { return static_cast<cudaError_t>(result); }

cudaError_t load(PtxKernel& kernel, const Size& size) {
    static const auto load_data = driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData");
    static const auto get = driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
    static const auto set = driver_function<decltype(&cuFuncSetAttribute)>("cuFuncSetAttribute");
    if (load_data == nullptr || get == nullptr || set == nullptr) return cudaErrorSymbolNotFound;
    // A pass may be recording; loading is no part of what it records.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUresult result = load_data(&module, kernel.ptx);
    if (result == CUDA_SUCCESS) result = get(&function, module, kernel.name);
    if (result == CUDA_SUCCESS) {
        result = set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     static_cast<int>(size.shared_bytes));
    }
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    kernel.function = function;
    return as_runtime(result);
}

cudaError_t enqueue(const PtxKernel& kernel, const Size& size, void** params) {
    static const auto launch_kernel =
        driver_function<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx");
    if (launch_kernel == nullptr) return cudaErrorSymbolNotFound;
    CUlaunchAttribute overlap = {};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>(size.blocks);
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = static_cast<unsigned>(size.threads);
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(size.shared_bytes);
    config.hStream = stream();
    config.attrs = &overlap;
    config.numAttrs = may_overlap() ? 1 : 0;
    return as_runtime(
        launch_kernel(&config, static_cast<CUfunction>(kernel.function), params, nullptr));
}

}  // namespace

void launch_ptx(PtxKernel& kernel, const Size& size, void** params) noexcept {
    if (kernel.function == nullptr && kernel.failure == cudaSuccess) {
        kernel.failure = load(kernel, size);
    }
    if (kernel.failure != cudaSuccess) return note_failure(kernel.failure);
    note_launch(enqueue(kernel, size, params), nullptr);
}

}  // namespace steady::cuda
