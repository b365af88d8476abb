// Vendor and flags to the class; the machines of records from before it was stored by their flags'
// hash. The same table stands in runner/storage/migrations/0100_search.sql.
#include "runner/record/cpu_class.h"

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
    const char* level = has("amx_int8")      ? "amx"
                        : has("avx512_vnni") ? "avx512_vnni"
                        : has("avx512f")     ? "avx512"
                        : has("avx2")        ? "avx2"
                                             : "x86-64-v2";
    return vendor + "-" + (family.empty() ? "0" : family) + "-" + level;
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
