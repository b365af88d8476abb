// A token as one launch: its bodies are recorded as tasks in the GPU's memory, which the blocks of
// one cooperative launch walk through in order. A block that is done with its part of a task counts
// itself in that task's counter and goes on; nobody waits for those who only wait themselves. What
// a block asks for before it needs another block's results is asked for before it waits, as in a
// kernel that starts early. For .cu files alone.
#pragma once

#include <memory>

#include "kernels/cuda/launch.h"
#include "kernels/runtime/gpu.h"

namespace steady::cuda {

constexpr int kTaskThreads = 256;  // of a block
constexpr int kTaskCluster = 8;    // blocks
constexpr int kTaskBlocks = 2;     // of a multiprocessor, where their shared memory finds room
constexpr std::size_t kMostCallBytes = 384;
constexpr int kTasksAhead = 3;  // whose description is on its way to shared memory

struct alignas(16) Task {
    int body;    // its number among the bodies of the launch
    int blocks;  // that it wants; where the launch has fewer, some take several
    int first;   // block of the launch that is block 0 of the task
    int room;    // groups of rows that a block has room for at the same time
    alignas(16) unsigned char call[kMostCallBytes];
};

// Between words that clusters of blocks wait for: a cache's line serves one block after the other,
// so each cluster has a word of its own, which all blocks that it waits for write.
constexpr int kTaskStride = 32;

// What the blocks of a launch of tasks share, in the GPU's memory.
struct TaskState {
    unsigned* done;  // [tasks][clusters]: blocks that were done with it, in all launches so far
    unsigned* told;  // [tasks][clusters]: the last launch in which the next task was told something
    // Of all blocks and launches: cycles that they waited, cycles and ns that they ran.
    unsigned long long* times;  // [3]
};

// Where tasks can run at all: what kernels/persistent/ has for them.
struct TaskRunner {
    int (*find)(const std::type_info& body);  // -1: it has no such body
    std::size_t (*kept_bytes)(int body);      // shared memory of Body::Kept
    std::size_t fixed_bytes;                  // of every block, besides a task's
    // Blocks that run at the same time with so much shared memory each; 0: none.
    int (*blocks)(std::size_t shared_bytes);
    void (*launch)(const Task* tasks, int n, const TaskState& state, unsigned launch, int blocks,
                   std::size_t shared_bytes);
};
const TaskRunner& task_runner();

// Tasks that were recorded, ready to be issued any number of times.
class TaskList {
public:
    // Records what `enqueue` launches in this thread. Error when it cannot be part of one launch.
    TaskList(void (*enqueue)(void* context), void* context);
    ~TaskList();
    TaskList(const TaskList&) = delete;
    TaskList& operator=(const TaskList&) = delete;
    void issue();

private:
    Task* tasks_ = nullptr;
    TaskState state_ = {};
    int n_ = 0, blocks_ = 0;
    std::size_t shared_bytes_ = 0;
    unsigned n_launches_ = 0;
};

// Of all lists issued so far.
gpu::Waits task_waits();

#ifdef __CUDACC__

// What a block that runs a task knows of it, in shared memory, so that it takes no registers.
struct Seat {
    int block, blocks, room;
    unsigned launch;
    const unsigned* done_before;  // this cluster's, of the task before; null: there is none
    unsigned wanted;              // what it must have reached
    unsigned* told;               // all clusters', of this task
    const unsigned* told_before;  // this cluster's, of the task before
    long long waited;             // cycles, in all tasks so far
};

// As Launched, for a block that runs a task.
struct Tasked {
    Seat& seat;

    __device__ int block() const { return seat.block; }
    __device__ int blocks() const { return seat.blocks; }
    __device__ int groups_at_once() const { return seat.room; }
    __device__ static void let_consumers_start() {}
    // Counters go round after 2³² counts, so that distances are compared. What never comes would
    // hang the GPU.
    __device__ static void await(const unsigned* word, unsigned wanted) {
        const long long begin = clock64();
        for (;;) {
            unsigned seen = 0;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
            if (static_cast<int>(seen - wanted) >= 0) return;
            if (clock64() - begin > (1LL << 35)) __trap();
        }
    }
    __device__ void wait() const {
        if (threadIdx.x == 0 && seat.done_before != nullptr) {
            const long long begin = clock64();
            await(seat.done_before, seat.wanted);
            seat.waited += clock64() - begin;
        }
        __syncthreads();
    }
    // The words of the calls are of launches of their own; a list has one for each task.
    __device__ void tell(unsigned* /*word*/) const {
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        for (int c = 0; c < static_cast<int>(gridDim.x) / kTaskCluster; ++c) {
            asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(seat.told + c * kTaskStride),
                         "r"(seat.launch)
                         : "memory");
        }
    }
    // By the first warp, when the block is done with its part of a task.
    __device__ static void count(unsigned* done) {
        const int lane = static_cast<int>(threadIdx.x);
        for (int c = lane; c < static_cast<int>(gridDim.x) / kTaskCluster; c += 32) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(done + c * kTaskStride)
                         : "memory");
        }
    }
    __device__ void await_told(const unsigned* /*word*/) const {
        const long long begin = clock64();
        await(seat.told_before, seat.launch);
        if (threadIdx.x == 0) seat.waited += clock64() - begin;
    }
};

#endif

}  // namespace steady::cuda
