// The one way to a GPU: its memory, its stream and how launches are issued. What includes this
// knows no CUDA; the functions are in ../cuda/runtime.cu where a toolkit was found, else in
// none.cpp, where every one of them says what is missing. One GPU per process, chosen by use().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace steady::gpu {

// Why no GPU can be used by this program here; empty when one can.
std::string why_none();
// The same for a variant that needs this compute capability (times ten) of the GPU in use.
std::string lacking(int compute);

int count();
// All that follows happens on GPU `index`. Error when there is none of that number.
void use(int index);

struct Info {
    std::string name;
    std::string driver;  // its version, and that of CUDA
    int compute = 0;     // capability, times ten
    int multiprocessors = 0;
    std::int64_t memory_bytes = 0, free_bytes = 0, l2_bytes = 0;
};
Info info();

// Memory of the GPU, or of the host where the GPU can read it. Errors say how much was asked for.
void* allocate(std::int64_t bytes);
void* allocate_on_host(std::int64_t bytes);
void release(void* memory) noexcept;
void release_on_host(void* memory) noexcept;
// Complete when they return.
void upload(void* to, const void* from, std::int64_t bytes);
void download(void* to, const void* from, std::int64_t bytes);
void fill_zero(void* to, std::int64_t bytes);
// In the order of what is enqueued; `from` (of allocate_on_host) stays as it is until then.
void enqueue_upload(void* to, const void* from, std::int64_t bytes);

// Host memory that kernels may read and write by its own address as long as this lives: slow, for
// checks alone.
class Registered {
public:
    Registered(void* memory, std::size_t bytes);
    ~Registered();
    Registered(Registered&& other) noexcept;
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;
    Registered& operator=(Registered&&) = delete;

private:
    void* memory_ = nullptr;
};

// How the launches of a token reach the GPU: one by one; as one captured graph; as a graph in which
// each kernel may start, and ask for its weights, while the one before it still runs; as one launch
// whose blocks stay and run the kernels' bodies as tasks (kernels/cuda/tasks.h).
enum class Launch { stream, graph, dependent, persistent };

// A sequence of launches, recorded once and issued whole.
class Graph {
public:
    Graph();
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    bool ready() const;
    // What `enqueue` enqueues in this thread is recorded, not run. Error of CUDA's by its name, and
    // where a kernel has no body that a persistent launch could run.
    void record(Launch how, void (*enqueue)(void* context), void* context);
    void issue();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Waits for all that was enqueued. Error when a kernel failed, with CUDA's name of the failure:
// then nothing more can run on the GPU in this process.
void finish();

// Kernels enqueued or recorded so far.
std::int64_t launches();

// What the blocks of persistent launches did so far: tasks that they walked through, and the time
// that a block waited for others before them, as the mean over blocks.
struct Waits {
    std::int64_t waits = 0;
    double ns = 0;
};
Waits waits();

// Time on the GPU between two points of the stream.
class Watch {
public:
    Watch();
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    void start();
    double stop_ns();  // waits

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Bytes per second at which the GPU reads `bytes` of its memory, the best of `passes`.
double read_bytes_per_s(const void* memory, std::int64_t bytes, int passes);

}  // namespace steady::gpu
