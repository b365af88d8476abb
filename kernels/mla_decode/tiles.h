// Instructions of the tensor cores, and copies on their way into shared memory, for tiles of the
// cache. For .cu files alone.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace steady::cuda {

// Values of the cache's type.
template <class T>
__device__ T narrow(float v) {
    if constexpr (std::is_same_v<T, __half>) {
        return __float2half_rn(v);
    } else {
        return __float2bfloat16_rn(v);
    }
}
template <class T>
__device__ void put_two(T* to, float2 v) {
    to[0] = narrow<T>(v.x);
    to[1] = narrow<T>(v.y);
}

__device__ inline unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ inline void copy_ahead(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

// Of what passes once a token, and leaves the second-level cache first.
__device__ inline void copy_once(void* to, const void* from) {
    asm volatile(
        "{ .reg .b64 once; createpolicy.fractional.L2::evict_first.b64 once, 1.0;"
        " cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, once; }" ::"r"(
            shared_address(to)),
        "l"(from));
}

__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline void load_a(unsigned (&a)[4], const void* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(at)));
}

// The same of columns: two tiles of eight, sixteen rows each.
__device__ inline void load_turned(unsigned (&b)[4], const void* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(shared_address(at)));
}

__device__ inline void load_b(unsigned (&b)[2], const void* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(shared_address(at)));
}

__device__ inline void load_b_turned(unsigned (&b)[2], const void* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(shared_address(at)));
}

// c += a · b, sixteen rows by eight columns, of sixteen halves or bfloat16 each.
template <class T>
__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}

}  // namespace steady::cuda
