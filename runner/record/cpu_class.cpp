// Vendor and flags to the class; the machines of records from before it was stored by their flags'
// hash. The same table stands in runner/storage/migrations/0100_search.sql.
#include "runner/record/cpu_class.h"

#include <array>

namespace steady {

std::string cpu_class_of(const std::string& vendor_id, const std::string& family,
                         const std::string& flags) {
    const std::string vendor = vendor_id == "GenuineIntel"   ? "intel"
                               : vendor_id == "AuthenticAMD" ? "amd"
                                                             : "other";
    const std::string padded = " " + flags + " ";
    const auto has = [&](const std::string& flag) {
        return padded.find(" " + flag + " ") != std::string::npos;
    };
    // The sets of kernels/registry/cpu.h, in Linux's words: a level needs all of it.
    const bool avx2 = has("avx2") && has("fma") && has("f16c");
    const bool avx512 =
        avx2 && has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
    const bool vnni = avx512 && has("avx512_vnni");
    const bool amx = vnni && has("avx512vbmi") && has("amx_tile") && has("amx_int8");
    const char* level = amx      ? "amx"
                        : vnni   ? "avx512_vnni"
                        : avx512 ? "avx512"
                        : avx2   ? "avx2"
                                 : "x86-64-v2";
    return vendor + "-" + (family.empty() ? "0" : family) + "-" + level;
}

bool same_cpu_class(const std::string& one, const std::string& other) {
    const auto parts = [](const std::string& name) {
        const std::size_t first = name.find('-');
        const std::string vendor = name.substr(0, first);
        std::string rest = first == std::string::npos ? "" : name.substr(first + 1);
        const std::size_t digits = rest.find_first_not_of("0123456789");
        const bool with_family = digits != 0 && digits < rest.size() && rest[digits] == '-';
        const std::string family = with_family ? rest.substr(0, digits) : "";
        if (with_family) rest = rest.substr(digits + 1);
        return std::array{vendor, family, rest};
    };
    const auto [vendor, family, level] = parts(one);
    const auto [vendor2, family2, level2] = parts(other);
    return vendor == vendor2 && level == level2 &&
           (family == family2 || family.empty() || family2.empty());
}

std::string cpu_class(const Fingerprint& fingerprint) {
    const auto said = fingerprint.find("cpu_class");
    if (said != fingerprint.end()) return said->second;
    const auto flags = fingerprint.find("cpu_flags_sha256");
    if (flags == fingerprint.end()) return "unknown";
    if (flags->second == "34a7831d9e3d2791") return "intel-amx";
    if (flags->second == "bb6fa18d4aa2c5be") return "intel-avx512_vnni";
    if (flags->second == "a3b2e5a99de0ca63") return "amd-avx2";
    if (flags->second == "ebf54ef511e85980") return "amd-26-avx512_vnni";
    return "unknown";
}

std::string cpu_class(const Record& record) {
    return record.attempts.empty() ? "unknown" : cpu_class(record.attempts.back().fingerprint);
}

}  // namespace steady
