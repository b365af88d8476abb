// A plain sum over a large buffer: as many bytes as the caches cannot hold, no arithmetic to speak
// of.
#include "kernels/tool/stream.h"

#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace steady::tool {
namespace {

constexpr std::size_t kBytes = 512U << 20;
constexpr int kPasses = 7;

template <bool kPrefetch>
std::int64_t sum_bytes(const std::byte* data, std::size_t bytes) {
    __m128i sums[4] = {};
    for (std::size_t i = 0; i < bytes; i += 64) {
        if constexpr (kPrefetch) {
            _mm_prefetch(reinterpret_cast<const char*>(data + i) + 4096, _MM_HINT_T0);
        }
        for (int j = 0; j < 4; ++j) {
            const auto* at = reinterpret_cast<const __m128i*>(data + i) + j;
            sums[j] = _mm_add_epi64(sums[j], _mm_load_si128(at));
        }
    }
    sums[0] = _mm_add_epi64(_mm_add_epi64(sums[0], sums[1]), _mm_add_epi64(sums[2], sums[3]));
    return _mm_cvtsi128_si64(sums[0]);
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

namespace {

// GB/s of each pass but the first.
std::vector<double> read_passes(Team& team, const std::byte* data,
                                std::int64_t (*sum)(const std::byte*, std::size_t)) {
    std::vector<double> rates;
    std::vector<std::int64_t> sums(static_cast<std::size_t>(team.size()));
    const std::size_t part = kBytes / static_cast<std::size_t>(team.size()) / 64 * 64;
    for (int pass = 0; pass < kPasses; ++pass) {
        const auto begin = std::chrono::steady_clock::now();
        team.run([&](int i) {
            const auto index = static_cast<std::size_t>(i);
            sums[index] += sum(data + index * part, part);
        });
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        const double bytes = static_cast<double>(part) * team.size();
        if (pass > 0) rates.push_back(bytes / seconds.count() / 1e9);
    }
    asm volatile("" : : "r"(sums.data()) : "memory");  // the sums are wanted
    return rates;
}

}  // namespace

Bandwidth measure_read_bandwidth(Team& team) {
    void* address =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    madvise(address, kBytes, MADV_HUGEPAGE);
    auto* data = static_cast<std::byte*>(address);
    std::memset(data, 1, kBytes);
    const auto plain = read_passes(team, data, sum_bytes<false>);
    const auto fetched = read_passes(team, data, sum_bytes<true>);
    const std::vector<double>& rates = median(plain) > median(fetched) ? plain : fetched;
    munmap(address, kBytes);
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    return {team.size(), median(rates), *low, *high};
}

}  // namespace steady::tool
