// Memory is read with the widest loads of the CPU, to measure the memory and not the loop.
#include "engine/run/machine.h"

#include <immintrin.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"
#include "kernels/registry/read_loops.h"
#include "kernels/simd/target.h"
#include "kernels/threads/clock.h"

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace steady {
namespace {

// XOR of n bytes, n a multiple of 512.
std::uint64_t read_wide(const std::byte* p, std::int64_t n) noexcept {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (std::int64_t i = 0; i < n; i += 512) {
        a = _mm512_xor_si512(
            a, _mm512_xor_si512(_mm512_loadu_si512(p + i), _mm512_loadu_si512(p + i + 64)));
        b = _mm512_xor_si512(
            b, _mm512_xor_si512(_mm512_loadu_si512(p + i + 128), _mm512_loadu_si512(p + i + 192)));
        c = _mm512_xor_si512(
            c, _mm512_xor_si512(_mm512_loadu_si512(p + i + 256), _mm512_loadu_si512(p + i + 320)));
        d = _mm512_xor_si512(
            d, _mm512_xor_si512(_mm512_loadu_si512(p + i + 384), _mm512_loadu_si512(p + i + 448)));
    }
    const __m512i sum = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
    std::uint64_t parts[8];
    std::memcpy(parts, &sum, sizeof(parts));
    std::uint64_t all = 0;
    for (const std::uint64_t part : parts) all ^= part;
    return all;
}

}  // namespace
}  // namespace steady
KERNEL_TARGET_END

namespace steady {
namespace {

constexpr std::int64_t kRow = 1 << 16;  // bytes; one row of the read job

std::uint64_t read_narrow(const std::byte* p, std::int64_t n) noexcept {
    std::uint64_t all[8] = {};
    for (std::int64_t i = 0; i < n; i += 64) {
        std::uint64_t parts[8];
        std::memcpy(parts, p + i, sizeof(parts));
        for (int j = 0; j < 8; ++j) all[j] ^= parts[j];
    }
    return all[0] ^ all[1] ^ all[2] ^ all[3] ^ all[4] ^ all[5] ^ all[6] ^ all[7];
}

struct ReadTask {
    const std::byte* data;
    bool wide;
    std::atomic<std::uint64_t> sum{0};
};

void read_rows(const void* task_pointer, Range rows) noexcept {
    auto& task = *static_cast<ReadTask*>(const_cast<void*>(task_pointer));
    const std::byte* from = task.data + rows.begin * kRow;
    const std::int64_t n = (rows.end - rows.begin) * kRow;
    task.sum ^= task.wide ? read_wide(from, n) : read_narrow(from, n);
}

}  // namespace

PageBuffer::PageBuffer(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error{"cannot map a buffer to measure read speed", kExitInternal};
    }
    madvise(memory, size_, MADV_HUGEPAGE);
    std::memset(memory, 1, size_);
    data_ = static_cast<std::byte*>(memory);
}

PageBuffer::~PageBuffer() { munmap(data_, size_); }

double read_bytes_per_s(ThreadPool& pool, std::span<const std::byte> memory, int passes) {
    ReadTask task{memory.data(), cpu::has(cpu::avx512)};
    const auto rows = static_cast<std::int64_t>(memory.size()) / kRow;
    if (rows == 0) return 0;
    std::int64_t best = INT64_MAX;
    for (int pass = 0; pass < passes; ++pass) {
        const std::int64_t begin = now_ns();
        pool.launch(Job{read_rows, &task, rows, 1, 0});
        best = std::min(best, now_ns() - begin);
    }
    return static_cast<double>(rows * kRow) /
           (static_cast<double>(std::max<std::int64_t>(best, 1)) * 1e-9);
}

ReadLimit read_limit(ThreadPool& pool, std::span<const std::byte> memory, int passes) {
    struct Task {
        const std::byte* data;
        const ReadLoop* loop;
        std::atomic<std::uint64_t> sum{0};
        static void run(const void* self, Range rows) noexcept {
            auto& task = *static_cast<Task*>(const_cast<void*>(self));
            task.sum ^=
                task.loop->run(task.data + rows.begin * kRow, (rows.end - rows.begin) * kRow);
        }
    };
    static_assert(kRow % kReadGrain == 0);
    void* aligned = const_cast<std::byte*>(memory.data());
    std::size_t left = memory.size();
    if (std::align(64, kRow, aligned, left) == nullptr) return {};
    const std::int64_t rows = static_cast<std::int64_t>(left) / kRow;
    Task task{static_cast<const std::byte*>(aligned), nullptr};
    const auto rates = read_rates(rows * kRow, passes, [&](const ReadLoop& loop) {
        task.loop = &loop;
        const std::int64_t begin = now_ns();
        pool.launch(Job{Task::run, &task, rows, 1, 0});
        return static_cast<double>(now_ns() - begin) / 1e9;
    });
    return {rates.front().bytes_per_s / 1e9, std::string(rates.front().loop)};
}

CpuTimes cpu_times() {
    CpuTimes times;
    times.at_ns = now_ns();
    std::ifstream in("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    in >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    times.busy = (user + nice + system + irq + softirq) / ticks;
    times.steal = steal / ticks;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    times.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return times;
}

CpuShares cpu_shares(const CpuTimes& begin, const CpuTimes& end) {
    const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    const double wall = static_cast<double>(end.at_ns - begin.at_ns) * 1e-9 * cpus;
    if (wall <= 0) return {};
    const double others = (end.busy - begin.busy) - (end.own - begin.own);
    return {std::clamp((end.steal - begin.steal) / wall, 0.0, 1.0),
            std::clamp(others / wall, 0.0, 1.0)};
}

Disturbances disturbances() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {usage.ru_nivcsw, usage.ru_majflt};
}

}  // namespace steady
