// The tiles of AMX: registers of up to sixteen rows of 64 bytes, and the product of two of them.
// The compiler's own intrinsics take their tile as text and do not say that they read memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steady::amx {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kRowBytes = 64;
using Tile = std::byte[kRows][kRowBytes];

// While it lives, this thread has eight tiles: from 0 on for sums, then kLefts for left factors and
// kRights for right ones. Sums and left factors have n_rows rows; a product sums over `depth` bytes
// of the left factor's rows, at most kRowBytes.
template <int kLefts, int kRights>
class Tiles {
public:
    explicit Tiles(std::int64_t depth = kRowBytes, std::int64_t n_rows = kRows) {
        struct alignas(64) {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t row_bytes[16] = {};
            std::uint8_t rows[16] = {};
        } shape;
        for (int i = 0; i < 8; ++i) {
            const bool right = i >= 8 - kRights;
            const bool left = !right && i >= 8 - kRights - kLefts;
            shape.row_bytes[i] = static_cast<std::uint16_t>(left ? depth : kRowBytes);
            shape.rows[i] = static_cast<std::uint8_t>(right ? depth / 4 : n_rows);
        }
        asm volatile("ldtilecfg %0" ::"m"(shape));
    }
    ~Tiles() { asm volatile("tilerelease"); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
};

template <int kTile>
[[gnu::always_inline]] inline void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

// The tile's rows lie `stride` bytes apart.
template <int kTile>
[[gnu::always_inline]] inline void load(const void* from, std::int64_t stride = kRowBytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void store(void* to, std::int64_t stride = kRowBytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
}

// Whether the bytes of the left and of the right factor have a sign.
enum class Signs { both, left, right, none };

// sum[m][n] += Σ_k left[m][4 k + i] · right[k][4 n + i], sums of 32 bits, i = 0 … 3.
template <Signs kSigns, int kSum, int kLeft, int kRight>
[[gnu::always_inline]] inline void dot() {
    if constexpr (kSigns == Signs::both) {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
    } else if constexpr (kSigns == Signs::left) {
        asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
    } else if constexpr (kSigns == Signs::right) {
        asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
    } else {
        asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
    }
}

}  // namespace steady::amx
