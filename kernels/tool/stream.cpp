// Reads more than the caches hold with every loop of kernels/registry/read_loops.h; the fastest is
// this machine's read bandwidth.
#include "kernels/tool/stream.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBytes = 512U << 20;
constexpr int kPasses = 3;

class Buffer {
public:
    Buffer() {
        void* at =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        madvise(at, kBytes, MADV_HUGEPAGE);
        data_ = static_cast<std::byte*>(at);
        std::memset(data_, 1, kBytes);
    }
    ~Buffer() { munmap(data_, kBytes); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    const std::byte* data() const { return data_; }

private:
    std::byte* data_ = nullptr;
};

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Bandwidth measure_read_bandwidth(Team& team) {
    const Buffer buffer;
    const std::size_t part = kBytes / static_cast<std::size_t>(team.size()) / kReadGrain *
                             static_cast<std::size_t>(kReadGrain);
    const auto bytes = static_cast<std::int64_t>(part) * team.size();
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(team.size()));
    std::map<std::string_view, std::vector<double>> passes;
    Bandwidth found;
    found.threads = team.size();
    found.loops = read_rates(bytes, kPasses, [&](const ReadLoop& loop) {
        const auto begin = std::chrono::steady_clock::now();
        team.run([&](int i) {
            const auto index = static_cast<std::size_t>(i);
            sums[index] ^= loop.run(buffer.data() + index * part, static_cast<std::int64_t>(part));
        });
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        passes[loop.name].push_back(static_cast<double>(bytes) / seconds.count() / 1e9);
        return seconds.count();
    });
    asm volatile("" : : "r"(sums.data()) : "memory");  // the sums are wanted
    const std::vector<double>& best = passes.at(found.loops.front().loop);
    found.gb_per_s = found.loops.front().bytes_per_s / 1e9;
    found.gb_per_s_low = *std::min_element(best.begin(), best.end());
    found.gb_per_s_median = median(best);
    return found;
}

int run_read(const Options& options) {
    Team team(options.threads);
    const Bandwidth read = measure_read_bandwidth(team);
    Json loops = Json::array();
    for (const ReadRate& rate : read.loops) {
        loops.push_back({{"loop", rate.loop}, {"gb_per_s", rate.bytes_per_s / 1e9}});
    }
    if (options.json) {
        const Json document = {{"cpu", cpu::model_name()},
                               {"cpu_class", cpu::class_name()},
                               {"threads", read.threads},
                               {"read_gb_per_s", read.gb_per_s},
                               {"read_loop", read.loop()},
                               {"read_gb_per_s_low", read.gb_per_s_low},
                               {"read_gb_per_s_median", read.gb_per_s_median},
                               {"loops", loops}};
        fmt::print("{}\n", document.dump(1));
        return kExitOk;
    }
    fmt::print("{} ({}), {} thread(s): read limit {:.2f} GB/s, by loop {}\n", cpu::model_name(),
               cpu::class_name(), read.threads, read.gb_per_s, read.loop());
    for (const ReadRate& rate : read.loops) {
        fmt::print("  {:<30} {:>7.2f} GB/s  {:>4.0f} %\n", rate.loop, rate.bytes_per_s / 1e9,
                   100 * rate.bytes_per_s / 1e9 / read.gb_per_s);
    }
    return kExitOk;
}

}  // namespace steady::tool
