// Wide and narrow loads, ordinary and non-temporal, with and without software prefetch, as one
// stream or as two that start half of the range apart.
#include "kernels/registry/read_loops.h"

#include <immintrin.h>

#include <algorithm>

#include "kernels/simd/target.h"

namespace steady {
namespace {

constexpr std::int64_t kAhead = 4096;  // bytes between a load and its prefetch

enum class Fetch { none, near, non_temporal };

template <Fetch kFetch>
inline void fetch_ahead(const std::byte* at) {
    const auto* line = reinterpret_cast<const char*>(at) + kAhead;
    if constexpr (kFetch == Fetch::near) _mm_prefetch(line, _MM_HINT_T0);
    if constexpr (kFetch == Fetch::non_temporal) _mm_prefetch(line, _MM_HINT_NTA);
}

template <Fetch kFetch>
std::uint64_t read_128(const std::byte* data, std::int64_t n) noexcept {
    __m128i sums[4] = {};
    for (std::int64_t i = 0; i < n; i += 64) {
        fetch_ahead<kFetch>(data + i);
        for (int j = 0; j < 4; ++j) {
            const auto* at = reinterpret_cast<const __m128i*>(data + i) + j;
            sums[j] = _mm_xor_si128(sums[j], _mm_load_si128(at));
        }
    }
    const __m128i sum =
        _mm_xor_si128(_mm_xor_si128(sums[0], sums[1]), _mm_xor_si128(sums[2], sums[3]));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
}

}  // namespace
}  // namespace steady

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace steady {
namespace {

// Four lines of each stream at a time: as many independent sums as hide the loads' latency.
template <Fetch kFetch, int kStreams, bool kTemporal>
std::uint64_t read_256(const std::byte* data, std::int64_t n) noexcept {
    __m256i sums[4] = {};
    const std::int64_t part = n / kStreams;
    for (std::int64_t i = 0; i < part; i += 256) {
        for (int s = 0; s < kStreams; ++s) {
            for (int j = 0; j < 8; ++j) {
                const std::byte* at = data + s * part + i + 32 * j;
                if (j % 2 == 0) fetch_ahead<kFetch>(at);
                const auto* from = reinterpret_cast<const __m256i*>(at);
                const __m256i value =
                    kTemporal ? _mm256_load_si256(from) : _mm256_stream_load_si256(from);
                sums[j % 4] = _mm256_xor_si256(sums[j % 4], value);
            }
        }
    }
    const __m256i sum =
        _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(
        _mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1))));
}

}  // namespace
}  // namespace steady
KERNEL_TARGET_END

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace steady {
namespace {

template <Fetch kFetch, int kStreams, bool kTemporal>
std::uint64_t read_512(const std::byte* data, std::int64_t n) noexcept {
    __m512i sums[4] = {};
    const std::int64_t part = n / kStreams;
    for (std::int64_t i = 0; i < part; i += 256) {
        for (int s = 0; s < kStreams; ++s) {
            for (int j = 0; j < 4; ++j) {
                const std::byte* at = data + s * part + i + 64 * j;
                fetch_ahead<kFetch>(at);
                const __m512i value = kTemporal
                                          ? _mm512_load_si512(at)
                                          : _mm512_stream_load_si512(const_cast<std::byte*>(at));
                sums[j] = _mm512_xor_si512(sums[j], value);
            }
        }
    }
    const __m512i sum =
        _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
    return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
}

}  // namespace
}  // namespace steady
KERNEL_TARGET_END

namespace steady {
namespace {

constexpr ReadLoop kLoops[] = {
    {"128", cpu::none, read_128<Fetch::none>},
    {"128_prefetch", cpu::none, read_128<Fetch::near>},
    {"256", cpu::avx2, read_256<Fetch::none, 1, true>},
    {"256_prefetch", cpu::avx2, read_256<Fetch::near, 1, true>},
    {"256_two_streams", cpu::avx2, read_256<Fetch::none, 2, true>},
    {"256_prefetch_two_streams", cpu::avx2, read_256<Fetch::near, 2, true>},
    {"256_nontemporal", cpu::avx2, read_256<Fetch::none, 1, false>},
    {"512", cpu::avx512, read_512<Fetch::none, 1, true>},
    {"512_prefetch", cpu::avx512, read_512<Fetch::near, 1, true>},
    {"512_two_streams", cpu::avx512, read_512<Fetch::none, 2, true>},
    {"512_prefetch_two_streams", cpu::avx512, read_512<Fetch::near, 2, true>},
    {"512_nontemporal", cpu::avx512, read_512<Fetch::none, 1, false>},
    {"512_nontemporal_two_streams", cpu::avx512, read_512<Fetch::none, 2, false>},
    {"512_nontemporal_prefetch", cpu::avx512, read_512<Fetch::non_temporal, 1, false>},
};

}  // namespace

std::span<const ReadLoop> read_loops() { return kLoops; }

std::vector<ReadRate> read_rates(std::int64_t bytes, int passes,
                                 const std::function<double(const ReadLoop&)>& pass) {
    std::vector<const ReadLoop*> loops;
    std::vector<ReadRate> rates;
    for (const ReadLoop& loop : kLoops) {
        if (!cpu::has(loop.needs)) continue;
        loops.push_back(&loop);
        rates.push_back({loop.name, 0});
    }
    for (int turn = 0; turn < passes; ++turn) {
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const double seconds = std::max(pass(*loops[i]), 1e-9);
            rates[i].bytes_per_s =
                std::max(rates[i].bytes_per_s, static_cast<double>(bytes) / seconds);
        }
    }
    std::stable_sort(rates.begin(), rates.end(), [](const ReadRate& a, const ReadRate& b) {
        return a.bytes_per_s > b.bytes_per_s;
    });
    return rates;
}

}  // namespace steady
