// What this CPU and operating system let a program use. Asked with cpuid and xgetbv, because a CPU
// may have registers that the system does not save. Tests and tools can mask features to see what a
// lesser machine would do.
#pragma once

#include <cstdint>
#include <string>

namespace steady::cpu {

// A set of features.
struct Features {
    std::uint32_t bits = 0;
    friend constexpr Features operator|(Features a, Features b) { return {a.bits | b.bits}; }
    friend constexpr bool operator==(Features a, Features b) = default;
};

// Single features.
constexpr Features kAvx2{1U << 0};
constexpr Features kFma{1U << 1};
constexpr Features kF16c{1U << 2};
constexpr Features kAvx512f{1U << 3};
constexpr Features kAvx512bw{1U << 4};
constexpr Features kAvx512vl{1U << 5};
constexpr Features kAvx512dq{1U << 6};
constexpr Features kAvx512vnni{1U << 7};
constexpr Features kAvx512vbmi{1U << 8};
constexpr Features kAvx512bf16{1U << 9};
constexpr Features kAmxTile{1U << 10};
constexpr Features kAmxInt8{1U << 11};

// The sets that variants ask for; kernels/simd/target.h has the matching compiler strings.
constexpr Features none{};
constexpr Features avx2 = kAvx2 | kFma | kF16c;
constexpr Features avx512 = avx2 | kAvx512f | kAvx512bw | kAvx512vl | kAvx512dq;
constexpr Features avx512_vnni = avx512 | kAvx512vnni;
constexpr Features amx = avx512_vnni | kAvx512vbmi | kAmxTile | kAmxInt8;

// What cpuid and xgetbv answered, and what follows from it: a feature counts only when the CPU has
// it and the system saves its registers. Bits that are not named above are never used.
struct Answers {
    std::uint32_t one_ecx = 0;                                  // leaf 1
    std::uint32_t seven_ebx = 0, seven_ecx = 0, seven_edx = 0;  // leaf 7
    std::uint32_t seven_one_eax = 0;                            // leaf 7, sub-leaf 1
    std::uint64_t saved = 0;                                    // XCR0; 0 when it may not be asked
};
Features features_of(const Answers& answers);

Features detected();                // asked once
Features available();               // detected and not masked
void mask(Features hidden);         // hides features from available(); replaces the previous mask
bool has(Features needed);          // all of them available
std::string names(Features set);    // "avx2 fma", empty for none
std::string missing(Features set);  // names of what is needed and not available

// The features called `name` ("avx512vnni", or a set: "avx2", "avx512", "avx512_vnni", "amx");
// none for an unknown name. Masking "avx2" hides AVX-512 too.
Features to_hide(const std::string& name);

// What a CPU of this level lacks, to be masked: "x86-64-v2" (the build's baseline), "avx2",
// "avx512", "avx512_vnni", "amx", or "native" (nothing). False for an unknown name.
bool beyond_level(const std::string& name, Features& hidden);
constexpr const char* kLevels = "x86-64-v2, avx2, avx512, avx512_vnni, amx, native";
std::string level();  // the highest of them that is available here

// The class whose verdicts choose defaults: vendor, family and level, as "amd-26-avx512_vnni". The
// level is that of available(), so a masked CPU is of the lesser class.
std::string class_name();

// Bytes of the largest cache that a core fills, 0 when unknown; and the brand string, "unknown"
// without one.
std::int64_t last_level_cache_bytes();
std::string model_name();

}  // namespace steady::cpu
