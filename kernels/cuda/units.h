// Matrices in the planes of kernels/layouts/planes.h, or as floats, as a lane of a warp meets them:
// it loads a unit of a row, and multiplies it with the same unit of a vector in shared memory. For
// .cu files alone.
#pragma once

#include <cuda_fp16.h>

#include "kernels/layouts/planes.h"
#include "kernels/matrix/any_matrix.h"

namespace steady::cuda {

// Scalars are floats whose rows are no multiple of 16 bytes.
enum class Form : int { floats, scalars, q4_0, q5_k, q6_k, q8_0 };

struct Matrix {
    const unsigned char* w;
    Form form;
    int rows, cols;
};

inline Form form_of(Type type, std::int64_t cols, bool as_floats) {
    if (as_floats || !planes::has_planes(type)) return cols % 4 == 0 ? Form::floats : Form::scalars;
    switch (type) {
        case Type::q4_0:
            return Form::q4_0;
        case Type::q5_k:
            return Form::q5_k;
        case Type::q6_k:
            return Form::q6_k;
        default:
            return Form::q8_0;
    }
}

inline Matrix device_matrix(const AnyMatrix& m, bool as_floats) {
    return {reinterpret_cast<const unsigned char*>(m.w), form_of(m.type, m.cols, as_floats),
            static_cast<int>(m.rows), static_cast<int>(m.cols)};
}
__host__ __device__ inline bool reads_floats(const Matrix& m) {
    return m.form == Form::floats || m.form == Form::scalars;
}

#ifdef __CUDACC__

// A vector in shared memory: floats, and bytes in units of 32 with a scale and the sums of both
// halves each.
struct Vector {
    float* f;
    uint4* low;   // values 0 … 15 of a unit
    uint4* high;  // values 16 … 31
    float2* s;    // scale; the sums in the two halves of the bits
};

// Weights pass the caches once a token, and leave the second level first: what else lies there, the
// kernels' own instructions too, stays.
__device__ inline uint4 load_once(const uint4* p) {
    uint4 v;
    asm volatile(
        "{ .reg .b64 once; createpolicy.fractional.L2::evict_first.b64 once, 1.0;"
        " ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], once; }"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p));
    return v;
}

// How a unit's parts are read: from global memory, where they pass once, or from wherever they lie.
struct ReadOnce {
    __device__ static uint4 wide(const uint4* p) { return load_once(p); }
    template <class T>
    __device__ static T narrow(const T* p) {
        return __ldg(p);
    }
};
struct ReadPlain {
    __device__ static uint4 wide(const uint4* p) { return *p; }
    template <class T>
    __device__ static T narrow(const T* p) {
        return *p;
    }
};

__device__ inline float half_value(unsigned short bits) {
    return __half2float(__ushort_as_half(bits));
}

__device__ inline int low_sum(float2 s) { return static_cast<short>(__float_as_int(s.y) & 0xFFFF); }
__device__ inline int high_sum(float2 s) { return __float_as_int(s.y) >> 16; }

// Where the parts of a row lie.
struct RowParts {
    const unsigned char* quants;
    const unsigned char* upper;
    const unsigned char* scales;
    const unsigned char* of_eight;
};

template <int kQuants, int kUpper, int kOfEight>
__device__ RowParts row_parts(const Matrix& m, int row) {
    const int units = m.cols / 32, chunk = row / 8, r = row % 8;
    const int n = min(8, m.rows - 8 * chunk);
    const long long of_row =
        static_cast<long long>(units) * (kQuants + kUpper + 2) + units / 8 * kOfEight;
    const unsigned char* quants = m.w + 8LL * chunk * of_row;
    const unsigned char* upper = quants + n * units * kQuants;
    const unsigned char* scales = upper + n * units * kUpper;
    const unsigned char* of_eight = scales + n * units * 2;
    return {quants + r * units * kQuants, upper + r * units * kUpper, scales + r * units * 2,
            of_eight + r * (units / 8) * kOfEight};
}

template <Form kForm>
struct Unit;

template <>
struct Unit<Form::q4_0> {
    static constexpr bool kBytes = true;
    uint4 q;
    unsigned short d;

    __device__ static int units(int cols) { return cols / 32; }
    __device__ static RowParts row(const Matrix& m, int r) { return row_parts<16, 0, 0>(m, r); }
    template <class Read = ReadOnce>
    __device__ void load(const RowParts& row, int u) {
        q = Read::wide(reinterpret_cast<const uint4*>(row.quants) + u);
        d = Read::narrow(reinterpret_cast<const unsigned short*>(row.scales) + u);
    }
    __device__ float dot(const Vector& x, int u) const {
        const uint4 low = x.low[u], high = x.high[u];
        const float2 s = x.s[u];
        int a = 0, b = 0;
        const auto word = [&](unsigned w, unsigned l, unsigned h) {
            a = __dp4a(static_cast<int>(w & 0x0F0F0F0FU), static_cast<int>(l), a);
            b = __dp4a(static_cast<int>(w >> 4 & 0x0F0F0F0FU), static_cast<int>(h), b);
        };
        word(q.x, low.x, high.x);
        word(q.y, low.y, high.y);
        word(q.z, low.z, high.z);
        word(q.w, low.w, high.w);
        return half_value(d) * s.x * static_cast<float>(a + b - 8 * (low_sum(s) + high_sum(s)));
    }
    __device__ float value(int j) const {
        const unsigned byte = reinterpret_cast<const unsigned char*>(&q)[j % 16];
        return half_value(d) *
               static_cast<float>(static_cast<int>(j < 16 ? byte & 15U : byte >> 4) - 8);
    }
};

template <>
struct Unit<Form::q8_0> {
    static constexpr bool kBytes = true;
    uint4 q[2];
    unsigned short d;

    __device__ static int units(int cols) { return cols / 32; }
    __device__ static RowParts row(const Matrix& m, int r) { return row_parts<32, 0, 0>(m, r); }
    template <class Read = ReadOnce>
    __device__ void load(const RowParts& row, int u) {
        q[0] = Read::wide(reinterpret_cast<const uint4*>(row.quants) + 2 * u);
        q[1] = Read::wide(reinterpret_cast<const uint4*>(row.quants) + 2 * u + 1);
        d = Read::narrow(reinterpret_cast<const unsigned short*>(row.scales) + u);
    }
    __device__ float dot(const Vector& x, int u) const {
        const uint4 low = x.low[u], high = x.high[u];
        int a = 0;
        const auto word = [&](unsigned w, unsigned v) {
            a = __dp4a(static_cast<int>(w), static_cast<int>(v), a);
        };
        word(q[0].x, low.x);
        word(q[0].y, low.y);
        word(q[0].z, low.z);
        word(q[0].w, low.w);
        word(q[1].x, high.x);
        word(q[1].y, high.y);
        word(q[1].z, high.z);
        word(q[1].w, high.w);
        return half_value(d) * x.s[u].x * static_cast<float>(a);
    }
    __device__ float value(int j) const {
        return half_value(d) * static_cast<float>(reinterpret_cast<const signed char*>(q)[j]);
    }
};

template <>
struct Unit<Form::q5_k> {
    static constexpr bool kBytes = true;
    uint4 q;
    unsigned upper;
    unsigned short both;  // scale, min
    unsigned d;           // d, dmin

    __device__ static int units(int cols) { return cols / 32; }
    __device__ static RowParts row(const Matrix& m, int r) { return row_parts<16, 4, 4>(m, r); }
    template <class Read = ReadOnce>
    __device__ void load(const RowParts& row, int u) {
        q = Read::wide(reinterpret_cast<const uint4*>(row.quants) + u);
        upper = Read::narrow(reinterpret_cast<const unsigned*>(row.upper) + u);
        both = Read::narrow(reinterpret_cast<const unsigned short*>(row.scales) + u);
        d = Read::narrow(reinterpret_cast<const unsigned*>(row.of_eight) + u / 8);
    }
    // Value 4w … 4w + 3's fifth bits.
    __device__ unsigned fifth(int w) const { return (upper >> w & 0x01010101U) << 4; }
    __device__ float scale() const {
        return half_value(static_cast<unsigned short>(d & 0xFFFFU)) *
               static_cast<float>(both & 0xFF);
    }
    __device__ float least() const {
        return half_value(static_cast<unsigned short>(d >> 16)) * static_cast<float>(both >> 8);
    }
    __device__ float dot(const Vector& x, int u) const {
        const uint4 low = x.low[u], high = x.high[u];
        const float2 s = x.s[u];
        int a = 0, b = 0;
        const auto word = [&](int w, unsigned bits, unsigned l, unsigned h) {
            a = __dp4a(static_cast<int>((bits & 0x0F0F0F0FU) | fifth(w)), static_cast<int>(l), a);
            b = __dp4a(static_cast<int>((bits >> 4 & 0x0F0F0F0FU) | fifth(w + 4)),
                       static_cast<int>(h), b);
        };
        word(0, q.x, low.x, high.x);
        word(1, q.y, low.y, high.y);
        word(2, q.z, low.z, high.z);
        word(3, q.w, low.w, high.w);
        return s.x * (scale() * static_cast<float>(a + b) -
                      least() * static_cast<float>(low_sum(s) + high_sum(s)));
    }
    __device__ float value(int j) const {
        const unsigned byte = reinterpret_cast<const unsigned char*>(&q)[j % 16];
        const unsigned nibble = j < 16 ? byte & 15U : byte >> 4;
        const unsigned bit = upper >> (8 * (j % 4) + j / 4) & 1U;
        return scale() * static_cast<float>(nibble | bit << 4) - least();
    }
};

template <>
struct Unit<Form::q6_k> {
    static constexpr bool kBytes = true;
    uint4 q;
    uint2 upper;
    unsigned short both;  // scales of the two halves
    unsigned short d;

    __device__ static int units(int cols) { return cols / 32; }
    __device__ static RowParts row(const Matrix& m, int r) { return row_parts<16, 8, 2>(m, r); }
    template <class Read = ReadOnce>
    __device__ void load(const RowParts& row, int u) {
        q = Read::wide(reinterpret_cast<const uint4*>(row.quants) + u);
        upper = Read::narrow(reinterpret_cast<const uint2*>(row.upper) + u);
        both = Read::narrow(reinterpret_cast<const unsigned short*>(row.scales) + u);
        d = Read::narrow(reinterpret_cast<const unsigned short*>(row.of_eight) + u / 8);
    }
    __device__ static unsigned pair(unsigned word, int w) {
        return (word >> (2 * w) & 0x03030303U) << 4;
    }
    __device__ float dot(const Vector& x, int u) const {
        const uint4 low = x.low[u], high = x.high[u];
        const float2 s = x.s[u];
        int a = 0, b = 0;
        const auto word = [&](int w, unsigned bits, unsigned l, unsigned h) {
            a = __dp4a(static_cast<int>((bits & 0x0F0F0F0FU) | pair(upper.x, w)),
                       static_cast<int>(l), a);
            b = __dp4a(static_cast<int>((bits >> 4 & 0x0F0F0F0FU) | pair(upper.y, w)),
                       static_cast<int>(h), b);
        };
        word(0, q.x, low.x, high.x);
        word(1, q.y, low.y, high.y);
        word(2, q.z, low.z, high.z);
        word(3, q.w, low.w, high.w);
        const int first = static_cast<signed char>(both & 0xFF);
        const int second = static_cast<signed char>(both >> 8);
        return half_value(d) * s.x *
               static_cast<float>(first * (a - 32 * low_sum(s)) + second * (b - 32 * high_sum(s)));
    }
    __device__ float value(int j) const {
        const unsigned byte = reinterpret_cast<const unsigned char*>(&q)[j % 16];
        const unsigned nibble = j < 16 ? byte & 15U : byte >> 4;
        const unsigned pairs =
            (j < 16 ? upper.x : upper.y) >> (8 * (j % 4) + 2 * (j % 16 / 4)) & 3U;
        const int scale = static_cast<signed char>(j < 16 ? both & 0xFF : both >> 8);
        return half_value(d) * static_cast<float>(scale) *
               static_cast<float>(static_cast<int>(nibble | pairs << 4) - 32);
    }
};

template <>
struct Unit<Form::floats> {
    static constexpr bool kBytes = false;
    float4 q;

    __device__ static int units(int cols) { return cols / 4; }
    __device__ static RowParts row(const Matrix& m, int r) {
        return {m.w + 4LL * r * m.cols, nullptr, nullptr, nullptr};
    }
    __device__ void load(const RowParts& row, int u) {
        const uint4 bits = load_once(reinterpret_cast<const uint4*>(row.quants) + u);
        q = {__uint_as_float(bits.x), __uint_as_float(bits.y), __uint_as_float(bits.z),
             __uint_as_float(bits.w)};
    }
    __device__ float dot(const Vector& x, int u) const {
        const float4 v = reinterpret_cast<const float4*>(x.f)[u];
        return q.x * v.x + q.y * v.y + q.z * v.z + q.w * v.w;
    }
};

template <>
struct Unit<Form::scalars> {
    static constexpr bool kBytes = false;
    float q;

    __device__ static int units(int cols) { return cols; }
    __device__ static RowParts row(const Matrix& m, int r) {
        return {m.w + 4LL * r * m.cols, nullptr, nullptr, nullptr};
    }
    __device__ void load(const RowParts& row, int u) {
        q = __ldg(reinterpret_cast<const float*>(row.quants) + u);
    }
    __device__ float dot(const Vector& x, int u) const { return q * x.f[u]; }
};

// Calls work(Unit<form>{}) with the form as a constant, for the forms that planes have.
template <class Work>
__device__ inline void with_planes(Form form, Work work) {
    switch (form) {
        case Form::q4_0:
            return work(Unit<Form::q4_0>{});
        case Form::q5_k:
            return work(Unit<Form::q5_k>{});
        case Form::q6_k:
            return work(Unit<Form::q6_k>{});
        default:
            return work(Unit<Form::q8_0>{});
    }
}

// The same for every form.
template <class Work>
__device__ inline void with_form(Form form, Work work) {
    if (form == Form::floats) return work(Unit<Form::floats>{});
    if (form == Form::scalars) return work(Unit<Form::scalars>{});
    with_planes(form, work);
}

// The same where the kernel was made for one form, kOnly; a kernel of all forms is so long that it
// waits for its own instructions.
template <int kOnly, class Work>
__device__ inline void with_form_of(Form form, Work work) {
    if constexpr (kOnly >= 0) {
        work(Unit<static_cast<Form>(kOnly)>{});
    } else {
        with_form(form, work);
    }
}

#endif

// As kOnly: every form.
constexpr int kAnyForm = -1;
constexpr int only(Form form) { return static_cast<int>(form); }

}  // namespace steady::cuda
