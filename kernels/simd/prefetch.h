// Software prefetch of weights that a kernel will read soon.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace steady {

// Asks for kLines cache lines kAhead bytes behind `at`; nothing for kAhead 0. A prefetch of an
// address that does not exist is ignored.
template <int kAhead, int kLines>
[[gnu::always_inline]] inline void fetch(const std::byte* at) {
    if constexpr (kAhead > 0) {
        for (int line = 0; line < kLines; ++line) {
            _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead + 64 * line, _MM_HINT_T0);
        }
    }
}

}  // namespace steady
