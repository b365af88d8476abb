// Vendor and flags to the class; the machines of records from before it was stored by their flags'
// hash. The same table stands in runner/storage/migrations/0100_search.sql.
#include "runner/record/cpu_class.h"

namespace steady {

std::string cpu_class_of(const std::string& vendor_id, const std::string& flags) {
    const std::string vendor = vendor_id == "GenuineIntel"   ? "intel"
                               : vendor_id == "AuthenticAMD" ? "amd"
                                                             : "other";
    const std::string padded = " " + flags + " ";
    const auto has = [&](const std::string& flag) {
        return padded.find(" " + flag + " ") != std::string::npos;
    };
    if (has("amx_int8")) return vendor + "-amx";
    if (has("avx512_vnni")) return vendor + "-avx512_vnni";
    if (has("avx512f")) return vendor + "-avx512";
    return vendor + (has("avx2") ? "-avx2" : "-baseline");
}

std::string cpu_class(const Fingerprint& fingerprint) {
    const auto said = fingerprint.find("cpu_class");
    if (said != fingerprint.end()) return said->second;
    const auto flags = fingerprint.find("cpu_flags_sha256");
    if (flags == fingerprint.end()) return "unknown";
    if (flags->second == "34a7831d9e3d2791") return "intel-amx";
    if (flags->second == "bb6fa18d4aa2c5be") return "intel-avx512_vnni";
    if (flags->second == "a3b2e5a99de0ca63") return "amd-avx2";
    if (flags->second == "ebf54ef511e85980") return "amd-avx512_vnni";
    return "unknown";
}

std::string cpu_class(const Record& record) {
    return record.attempts.empty() ? "unknown" : cpu_class(record.attempts.back().fingerprint);
}

}  // namespace steady
