// cpuid leaves 1 and 7 name the features; xgetbv says which registers the system saves.
#include "kernels/registry/cpu.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

namespace steady::cpu {
namespace {

struct Regs {
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Regs ask(std::uint32_t leaf, std::uint32_t sub) {
    Regs r;
    if (__get_cpuid_count(leaf, sub, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
    return r;
}

std::uint64_t saved_registers() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<std::uint64_t>(high) << 32 | low;
}

// Linux lets a process use the tiles' data only when it has asked (arch_prctl(2), since 5.16).
bool may_use_tiles() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // its bit in XCR0
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool bit(std::uint32_t word, int index) { return ((word >> index) & 1) != 0; }

Answers ask_all() {
    const Regs one = ask(1, 0);
    const Regs seven = ask(7, 0);
    const bool may_ask = bit(one.ecx, 27);  // OSXSAVE: without it, xgetbv may not be used
    return {one.ecx,   seven.ebx,     seven.ecx,
            seven.edx, ask(7, 1).eax, may_ask ? saved_registers() : 0};
}

std::string vendor_name() {
    const std::uint32_t first = ask(0, 0).ebx;
    if (first == 0x756e6547) return "intel";  // "Genu"
    if (first == 0x68747541) return "amd";    // "Auth"
    return "other";
}

Features& hidden() {
    static Features features;
    return features;
}

struct Named {
    const char* name;
    Features features;
};
constexpr std::array<Named, 12> kNames{{{"avx2", kAvx2},
                                        {"fma", kFma},
                                        {"f16c", kF16c},
                                        {"avx512f", kAvx512f},
                                        {"avx512bw", kAvx512bw},
                                        {"avx512vl", kAvx512vl},
                                        {"avx512dq", kAvx512dq},
                                        {"avx512vnni", kAvx512vnni},
                                        {"avx512vbmi", kAvx512vbmi},
                                        {"avx512bf16", kAvx512bf16},
                                        {"amx_tile", kAmxTile},
                                        {"amx_int8", kAmxInt8}}};
constexpr Features kTiles = kAmxTile | kAmxInt8;
constexpr Features kAllAvx512 =
    kAvx512f | kAvx512bw | kAvx512vl | kAvx512dq | kAvx512vnni | kAvx512vbmi | kAvx512bf16 | kTiles;

// Upwards, each with all of the one before.
constexpr std::array<Named, 5> kLevelSets{{{"x86-64-v2", none},
                                           {"avx2", avx2},
                                           {"avx512", avx512},
                                           {"avx512_vnni", avx512_vnni},
                                           {"amx", amx}}};

}  // namespace

Features features_of(const Answers& a) {
    const bool ymm = (a.saved & 0x6) == 0x6;
    const bool zmm = (a.saved & 0xE6) == 0xE6;
    const bool tiles = (a.saved & 0x60000) == 0x60000;
    Features found;
    const auto add = [&found](bool present, Features feature) {
        if (present) found = found | feature;
    };
    add(ymm && bit(a.seven_ebx, 5), kAvx2);
    add(ymm && bit(a.one_ecx, 12), kFma);
    add(ymm && bit(a.one_ecx, 29), kF16c);
    add(zmm && bit(a.seven_ebx, 16), kAvx512f);
    add(zmm && bit(a.seven_ebx, 30), kAvx512bw);
    add(zmm && bit(a.seven_ebx, 31), kAvx512vl);
    add(zmm && bit(a.seven_ebx, 17), kAvx512dq);
    add(zmm && bit(a.seven_ecx, 11), kAvx512vnni);
    add(zmm && bit(a.seven_ecx, 1), kAvx512vbmi);
    add(zmm && bit(a.seven_one_eax, 5), kAvx512bf16);
    add(tiles && bit(a.seven_edx, 24), kAmxTile);
    add(tiles && bit(a.seven_edx, 25), kAmxInt8);
    return found;
}

Features detected() {
    static const Features features = [] {
        const Features found = features_of(ask_all());
        const bool usable = (found.bits & kTiles.bits) == 0 || may_use_tiles();
        return usable ? found : Features{found.bits & ~kTiles.bits};
    }();
    return features;
}

Features available() { return {detected().bits & ~hidden().bits}; }
void mask(Features features) { hidden() = features; }
bool has(Features needed) { return (needed.bits & ~available().bits) == 0; }

std::string names(Features set) {
    std::string text;
    for (const Named& named : kNames) {
        if ((set.bits & named.features.bits) == 0) continue;
        if (!text.empty()) text += ' ';
        text += named.name;
    }
    return text;
}

std::string missing(Features set) { return names({set.bits & ~available().bits}); }

Features to_hide(const std::string& name) {
    if (name == "avx2") return avx2 | kAllAvx512;
    if (name == "avx512" || name == "avx512f") return kAllAvx512;
    if (name == "avx512_vnni") return kAvx512vnni;
    if (name == "amx") return kTiles;
    for (const Named& named : kNames) {
        if (name == named.name) return named.features;
    }
    return none;
}

bool beyond_level(const std::string& name, Features& hidden) {
    hidden = none;
    for (const Named& level : kLevelSets) {
        if (name != level.name) continue;
        hidden = {~level.features.bits};
        return true;
    }
    return name == "native";
}

std::string level() {
    const char* highest = kLevelSets.front().name;
    for (const Named& level : kLevelSets) {
        if (has(level.features)) highest = level.name;
    }
    return highest;
}

std::string class_name() {
    const std::uint32_t one = ask(1, 0).eax;
    const std::uint32_t base = one >> 8 & 15;
    const std::uint32_t family = base == 15 ? base + (one >> 20 & 255) : base;
    return vendor_name() + '-' + std::to_string(family) + '-' + level();
}

std::int64_t last_level_cache_bytes() {
    // The system's own view first: cpuid counts the caches of the whole package on some machines.
    // On AMD a core fills that of its own complex alone, 96 MB at most so far (stacked cache).
    constexpr std::int64_t kLargestComplex = 96 << 20;
    std::int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                           "/size");
        std::int64_t kib = 0;
        if (file >> kib) largest = std::max(largest, kib * 1024);
    }
    if (largest > 0) return largest;
    const std::int64_t package = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const std::int64_t level3 =
        vendor_name() == "amd" ? std::min(package, kLargestComplex) : package;
    const std::int64_t level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::max<std::int64_t>({level3, level2, 0});
}

std::string model_name() {
    if (ask(0x80000000, 0).eax < 0x80000004) return "unknown";
    char text[49] = {};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const Regs r = ask(0x80000002 + i, 0);
        std::memcpy(text + 16 * i, &r, sizeof r);
    }
    std::string name = text;
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    return name.empty() ? "unknown" : name;
}

}  // namespace steady::cpu
