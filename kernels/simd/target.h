// Opens and closes the part of a file that may use more instructions than the build's baseline.
// The region starts after the includes and ends before the registration: instruction-set flags for
// a whole file would leave copies of ordinary inline functions in the program that older CPUs trap
// on. Lambdas do not belong inside: GCC's pragma does not reach them.
//
//   KERNEL_TARGET_BEGIN("avx2,fma")
//   namespace { void run(…) noexcept { … } }
//   KERNEL_TARGET_END
#pragma once

#define KERNEL_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define KERNEL_TARGET_BEGIN(features) \
    KERNEL_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define KERNEL_TARGET_END KERNEL_PRAGMA(clang attribute pop)
#else
// GCC 12 reports its own AVX-512 intrinsics' undefined start values as uninitialised.
#define KERNEL_TARGET_BEGIN(features)                       \
    KERNEL_PRAGMA(GCC push_options)                         \
    KERNEL_PRAGMA(GCC target(features))                     \
    KERNEL_PRAGMA(GCC diagnostic push)                      \
    KERNEL_PRAGMA(GCC diagnostic ignored "-Wuninitialized") \
    KERNEL_PRAGMA(GCC diagnostic ignored "-Wmaybe-uninitialized")
#define KERNEL_TARGET_END KERNEL_PRAGMA(GCC diagnostic pop) KERNEL_PRAGMA(GCC pop_options)
#endif

// The feature strings of the target regions, one per set in kernels/registry/cpu.h.
#define KERNEL_AVX2 "avx2,fma,f16c"
#define KERNEL_AVX512 "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq"
#define KERNEL_AVX512_VNNI "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#define KERNEL_AMX \
    "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,amx-tile,amx-int8"
