// Recording and issuing of tasks.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/tasks.h"

namespace steady::cuda {
namespace {

struct Recorded {
    int body = -1;
    Size size;
    Task task = {};
};

struct Recording {
    bool on = false;
    int blocks = 0;                           // of the launch, if its tasks find room so
    const std::type_info* missing = nullptr;  // the first body that no task can be
    std::vector<Recorded> tasks;
};
Recording recording;

// Of all lists: they add to one place, read where times are asked for.
unsigned long long* times = nullptr;
std::int64_t n_tasks_issued = 0;
int n_blocks_issued = 0;

constexpr std::size_t kMostSharedOfBlock = 227 * 1024;
constexpr std::size_t kSharedOfMultiprocessor = 228 * 1024, kReservedForBlock = 1024;

// What a block may have where `n` share a multiprocessor, in steps of 128 bytes.
std::size_t shared_bytes_of(int n) {
    const std::size_t share = kSharedOfMultiprocessor / static_cast<std::size_t>(n);
    return std::min(kMostSharedOfBlock, share - kReservedForBlock) / 128 * 128;
}

[[noreturn]] void refuse(const std::string& why) {
    throw Error{"launch persistent: " + why + "; use --launch dependent"};
}

std::size_t need_of(const Recorded& one) {
    const TaskRunner& runner = task_runner();
    return runner.fixed_bytes + runner.kept_bytes(one.body) + one.size.shared_bytes;
}

int whole_clusters(int blocks) { return (blocks + kTaskCluster - 1) / kTaskCluster * kTaskCluster; }

// Groups of rows that find room at the same time.
int room_of(const Recorded& one, std::size_t shared_bytes) {
    if (one.size.group_bytes == 0) return 1;
    const std::size_t more = (shared_bytes - need_of(one)) / one.size.group_bytes;
    return std::min(one.size.most_groups, 1 + static_cast<int>(more));
}

// Blocks that run the task: all that there are, of one whose blocks can take several groups.
int blocks_of(const Recorded& one, int blocks) {
    const Size& size = one.size;
    if (size.most_groups <= 1) return size.blocks;
    const int least = (size.blocks + size.most_groups - 1) / size.most_groups;
    return std::max(least, std::min(size.blocks, blocks));
}

template <class T>
T* gpu_array(std::size_t n) {
    const auto bytes = static_cast<std::int64_t>(n * sizeof(T));
    void* memory = gpu::allocate(bytes);
    gpu::fill_zero(memory, bytes);
    return static_cast<T*>(memory);
}

}  // namespace

bool recording_tasks() { return recording.on; }
int task_blocks() { return recording.blocks; }

void record_task(const std::type_info& body, const Size& size, const void* call,
                 std::size_t call_bytes) noexcept {
    Recorded one;
    one.body = task_runner().find(body);
    one.size = size;
    const bool known = one.body >= 0 && call_bytes <= kMostCallBytes &&
                       (size.cluster == 1 || size.cluster == kTaskCluster);
    if (!known) {
        if (recording.missing == nullptr) recording.missing = &body;
        return;
    }
    std::memcpy(one.task.call, call, call_bytes);
    recording.tasks.push_back(one);
}

TaskList::TaskList(void (*enqueue)(void* context), void* context) {
    const TaskRunner& runner = task_runner();
    recording = {};
    recording.on = true;
    recording.blocks = std::max(1, runner.blocks(shared_bytes_of(kTaskBlocks)));
    try {
        enqueue(context);
    } catch (...) {
        recording = {};
        throw;
    }
    const Recording made = std::move(recording);
    recording = {};
    gpu::finish();  // a kernel that is no task was refused
    if (made.missing != nullptr) {
        refuse(std::string("no task runs the body ") + made.missing->name() + " with this shape");
    }
    std::size_t need = 0;
    for (const Recorded& one : made.tasks) need = std::max(need, need_of(one));
    for (int share = kTaskBlocks; share > 0 && blocks_ == 0; --share) {
        shared_bytes_ = shared_bytes_of(share);
        if (need <= shared_bytes_) blocks_ = runner.blocks(shared_bytes_);
    }
    if (blocks_ == 0) {
        refuse(std::to_string(need) + " bytes of shared memory in clusters of " +
               std::to_string(kTaskCluster) + " blocks do not fit this GPU");
    }
    // A task begins behind the last block of the one before, so that as many blocks as can are
    // free for it and ask for its weights while that one runs.
    std::vector<Task> tasks;
    int first = 0;
    for (const Recorded& one : made.tasks) {
        Task task = one.task;
        task.body = one.body;
        task.blocks = blocks_of(one, blocks_);
        task.first = first;
        task.room = room_of(one, shared_bytes_);
        first = (first + whole_clusters(task.blocks)) % blocks_;
        tasks.push_back(task);
    }
    n_ = static_cast<int>(tasks.size());
    tasks_ = gpu_array<Task>(tasks.size());
    gpu::upload(tasks_, tasks.data(), static_cast<std::int64_t>(tasks.size() * sizeof(Task)));
    const std::size_t words = tasks.size() * static_cast<std::size_t>(blocks_ / kTaskCluster) *
                              static_cast<std::size_t>(kTaskStride);
    state_.done = gpu_array<unsigned>(2 * words);
    state_.told = state_.done + words;
    if (times == nullptr) times = gpu_array<unsigned long long>(3);
    state_.times = times;
}

TaskList::~TaskList() {
    gpu::release(tasks_);
    gpu::release(state_.done);
}

void TaskList::issue() {
    ++n_launches_;
    n_tasks_issued += n_;
    n_blocks_issued = blocks_;
    task_runner().launch(tasks_, n_, state_, n_launches_, blocks_, shared_bytes_);
}

gpu::Waits task_waits() {
    gpu::Waits waits;
    waits.waits = n_tasks_issued;
    if (times == nullptr || n_blocks_issued == 0) return waits;
    unsigned long long now[3] = {};
    gpu::download(now, times, sizeof now);
    if (now[1] == 0) return waits;
    const double ns_of_cycle = static_cast<double>(now[2]) / static_cast<double>(now[1]);
    waits.ns = static_cast<double>(now[0]) * ns_of_cycle / n_blocks_issued;
    return waits;
}

}  // namespace steady::cuda
