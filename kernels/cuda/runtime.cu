// The runtime over CUDA. One stream for everything of this process; a thread's launches go there,
// or into the graph that it records.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "kernels/base/error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/tasks.h"
#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

struct State {
    bool ready = false;
    int index = 0;
    cudaStream_t stream = nullptr;
    cudaDeviceProp properties = {};
    cudaError_t failure = cudaSuccess;  // the first since the last finish()
    const void* failed_kernel = nullptr;
    std::int64_t launches = 0;
    bool overlap = false;
};
State state;

void check(cudaError_t result, const std::string& what) {
    if (result == cudaSuccess) return;
    throw Error{what + ": " + cudaGetErrorName(result) + " (" + cudaGetErrorString(result) + ")",
                kExitInternal};
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string gigabytes(std::int64_t bytes) {
    return std::to_string(bytes / 1'000'000'000) + "." + std::to_string(bytes / 10'000'000 % 100) +
           " GB";
}

// Makes the chosen GPU this process's; the first one where none was chosen.
void be_ready() {
    if (state.ready) return;
    if (const std::string why = gpu::why_none(); !why.empty()) throw Error{why};
    check(cudaSetDevice(state.index), "GPU " + std::to_string(state.index));
    check(cudaGetDeviceProperties(&state.properties, state.index), "GPU properties");
    check(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking), "GPU stream");
    state.ready = true;
}

// XOR of all words, so that no load can be left out.
__global__ void __launch_bounds__(512) read_all(const uint4* from, long long n, unsigned* out) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    uint4 sum = {0, 0, 0, 0};
    long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 v[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) v[j] = __ldcs(from + i + j * step);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            sum = {sum.x ^ v[j].x, sum.y ^ v[j].y, sum.z ^ v[j].z, sum.w ^ v[j].w};
        }
    }
    for (; i < n; i += step) sum.x ^= __ldcs(from + i).x;
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345678U) *out = 1;  // hardly ever
}

}  // namespace

namespace cuda {

cudaStream_t stream() { return state.stream; }
bool may_overlap() { return state.overlap; }
int multiprocessors() { return state.properties.multiProcessorCount; }

void note_failure(cudaError_t result) noexcept {
    if (result != cudaSuccess && state.failure == cudaSuccess) state.failure = result;
}

void note_launch(cudaError_t result, const void* kernel) noexcept {
    ++state.launches;
    if (result != cudaSuccess && state.failure == cudaSuccess) state.failed_kernel = kernel;
    note_failure(result);
}

}  // namespace cuda

namespace gpu {

std::string why_none() {
    int n = 0;
    const cudaError_t result = cudaGetDeviceCount(&n);
    if (result == cudaSuccess && n > 0) return "";
    (void)cudaGetLastError();
    return std::string("no GPU can be used here: CUDA says ") + cudaGetErrorName(result) + " (" +
           cudaGetErrorString(result) +
           "); it needs an NVIDIA GPU of compute capability 8.0 or more and its driver "
           "(`nvidia-smi` lists both)";
}

std::string lacking(int compute) {
    if (std::string why = why_none(); !why.empty()) return why;
    int major = 0, minor = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, state.index);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, state.index);
    if (10 * major + minor >= compute) return "";
    return "this GPU has compute capability " + std::to_string(major) + "." +
           std::to_string(minor) + ", " + std::to_string(compute / 10) + "." +
           std::to_string(compute % 10) + " is needed";
}

int count() {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

void use(int index) {
    if (const std::string why = why_none(); !why.empty()) throw Error{why};
    if (index < 0 || index >= count()) {
        throw Error{"GPU " + std::to_string(index) + ": this machine has " +
                    std::to_string(count()) + ", counted from 0"};
    }
    if (state.ready && index != state.index) {
        throw Error{"GPU " + std::to_string(index) + ": this process already works on GPU " +
                    std::to_string(state.index)};
    }
    state.index = index;
    be_ready();
}

Info info() {
    be_ready();
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "driver version");
    check(cudaRuntimeGetVersion(&runtime), "CUDA version");
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "GPU memory");
    const cudaDeviceProp& p = state.properties;
    return {
        p.name,
        "driver for CUDA " + version_text(driver) + ", built with CUDA " + version_text(runtime),
        10 * p.major + p.minor,
        p.multiProcessorCount,
        static_cast<std::int64_t>(total),
        static_cast<std::int64_t>(free),
        p.l2CacheSize};
}

void* allocate(std::int64_t bytes) {
    be_ready();
    void* memory = nullptr;
    const cudaError_t result = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (result == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        const Info now = info();
        throw Error{"GPU memory: " + gigabytes(bytes) + " are needed, " +
                    gigabytes(now.free_bytes) + " of " + gigabytes(now.memory_bytes) +
                    " are free; use less context or a smaller model"};
    }
    check(result, "GPU memory, " + gigabytes(bytes));
    return memory;
}

void* allocate_on_host(std::int64_t bytes) {
    be_ready();
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault),
          "host memory for the GPU");
    return memory;
}

void release(void* memory) noexcept { (void)cudaFree(memory); }
void release_on_host(void* memory) noexcept { (void)cudaFreeHost(memory); }

void upload(void* to, const void* from, std::int64_t bytes) {
    finish();
    check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice),
          "copy to the GPU");
    // From memory that is not pinned the call returns before the last bytes are there.
    check(cudaDeviceSynchronize(), "copy to the GPU");
}

void download(void* to, const void* from, std::int64_t bytes) {
    be_ready();
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost,
                          state.stream),
          "copy from the GPU");
    finish();
}

void fill_zero(void* to, std::int64_t bytes) {
    finish();
    check(cudaMemset(to, 0, static_cast<std::size_t>(bytes)), "GPU memory");
    check(cudaDeviceSynchronize(), "GPU memory");
}

void enqueue_upload(void* to, const void* from, std::int64_t bytes) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice,
                          state.stream),
          "copy to the GPU");
}

Registered::Registered(void* memory, std::size_t bytes) {
    be_ready();
    constexpr std::uintptr_t kPage = 4096;
    const auto first = reinterpret_cast<std::uintptr_t>(memory) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
    const std::size_t whole = (end - first + kPage - 1) / kPage * kPage;
    memory_ = reinterpret_cast<void*>(first);
    check(cudaHostRegister(memory_, whole, cudaHostRegisterMapped), "host memory for a check");
}
Registered::~Registered() {
    if (memory_ != nullptr) (void)cudaHostUnregister(memory_);
}
Registered::Registered(Registered&& other) noexcept : memory_(other.memory_) {
    other.memory_ = nullptr;
}

struct Graph::Parts {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    std::int64_t launches = 0;
    std::unique_ptr<cuda::TaskList> tasks;  // in place of a graph
};
Graph::Graph() : parts_(std::make_unique<Parts>()) {}
Graph::~Graph() {
    if (parts_->ready != nullptr) (void)cudaGraphExecDestroy(parts_->ready);
    if (parts_->graph != nullptr) (void)cudaGraphDestroy(parts_->graph);
}
bool Graph::ready() const { return parts_->ready != nullptr || parts_->tasks != nullptr; }

void Graph::record(Launch how, void (*enqueue)(void* context), void* context) {
    finish();
    if (how == Launch::persistent) {
        parts_->tasks = std::make_unique<cuda::TaskList>(enqueue, context);
        return;
    }
    const std::int64_t before = state.launches;
    check(cudaStreamBeginCapture(state.stream, cudaStreamCaptureModeThreadLocal), "graph");
    state.overlap = how == Launch::dependent;
    try {
        enqueue(context);
    } catch (...) {
        state.overlap = false;
        cudaGraph_t broken = nullptr;
        (void)cudaStreamEndCapture(state.stream, &broken);
        if (broken != nullptr) (void)cudaGraphDestroy(broken);
        throw;
    }
    state.overlap = false;
    check(cudaStreamEndCapture(state.stream, &parts_->graph), "graph");
    finish();
    check(cudaGraphInstantiate(&parts_->ready, parts_->graph, 0), "graph");
    check(cudaGraphUpload(parts_->ready, state.stream), "graph");
    parts_->launches = state.launches - before;
    state.launches = before;
}

void Graph::issue() {
    if (parts_->tasks != nullptr) return parts_->tasks->issue();
    state.launches += parts_->launches;
    check(cudaGraphLaunch(parts_->ready, state.stream), "graph");
}

void finish() {
    be_ready();
    cudaError_t result = state.failure;
    state.failure = cudaSuccess;
    if (result == cudaSuccess) result = cudaStreamSynchronize(state.stream);
    if (result == cudaSuccess) return;
    const char* name = nullptr;
    if (state.failed_kernel != nullptr) (void)cudaFuncGetName(&name, state.failed_kernel);
    state.failed_kernel = nullptr;
    check(result, name == nullptr ? std::string("GPU") : std::string("GPU, kernel ") + name);
}

std::int64_t launches() { return state.launches; }
Waits waits() { return cuda::task_waits(); }

struct Watch::Parts {
    cudaEvent_t begin = nullptr, end = nullptr;
};
Watch::Watch() : parts_(std::make_unique<Parts>()) {
    be_ready();
    check(cudaEventCreate(&parts_->begin), "event");
    check(cudaEventCreate(&parts_->end), "event");
}
Watch::~Watch() {
    (void)cudaEventDestroy(parts_->begin);
    (void)cudaEventDestroy(parts_->end);
}
void Watch::start() { check(cudaEventRecord(parts_->begin, state.stream), "event"); }
double Watch::stop_ns() {
    check(cudaEventRecord(parts_->end, state.stream), "event");
    finish();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, parts_->begin, parts_->end), "event");
    return static_cast<double>(ms) * 1e6;
}

double read_bytes_per_s(const void* memory, std::int64_t bytes, int passes) {
    be_ready();
    auto* out = static_cast<unsigned*>(allocate(4));
    double best = 0;
    Watch watch;
    for (int pass = 0; pass < passes; ++pass) {
        watch.start();
        read_all<<<static_cast<unsigned>(4 * state.properties.multiProcessorCount), 512, 0,
                   state.stream>>>(static_cast<const uint4*>(memory), bytes / 16, out);
        const double ns = watch.stop_ns();
        best = std::max(best, static_cast<double>(bytes) / (ns * 1e-9));
    }
    release(out);
    return best;
}

}  // namespace gpu
}  // namespace steady
