// Everything comes from /proc, /sys and uname. Values that move by themselves (load, temperature,
// current frequency) are noise, not identity, and live in noise.h.
#include "runner/platform/fingerprint.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "kernels/base/revision.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/platform/gpu_facts.h"
#include "runner/platform/host_checks.h"
#include "runner/record/cpu_class.h"
#include "runner/spec/spec.h"

namespace steady {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string field_of(const std::string& text, const std::string& name, char separator) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind(name, 0) != 0) continue;
        const auto at = line.find(separator);
        if (at == std::string::npos) continue;
        const auto first = line.find_first_not_of(" \t\"", at + 1);
        if (first == std::string::npos) return "";
        std::string value = line.substr(first);
        while (!value.empty() && (value.back() == '"' || value.back() == ' ')) value.pop_back();
        return value;
    }
    return "";
}

// Flags in a fixed order: kernels have been seen to list them differently.
std::string flags_hash(const std::string& cpuinfo) {
    std::istringstream words(field_of(cpuinfo, "flags", ':'));
    std::vector<std::string> flags;
    for (std::string flag; words >> flag;) flags.push_back(flag);
    std::sort(flags.begin(), flags.end());
    std::string joined;
    for (const auto& flag : flags) joined += flag + " ";
    return sha256_hex(joined).substr(0, 16);
}

// Only what stays while a GPU works: clocks of the moment would make every fingerprint another.
void add_gpus(Fingerprint& print) {
    int index = 0;
    const auto word = [](std::optional<bool> is_on) {
        return !is_on ? "unknown" : *is_on ? "on" : "off";
    };
    const auto number = [](std::optional<unsigned> value) {
        return value ? std::to_string(*value) : "unknown";
    };
    for (const GpuFacts& gpu : gpu_facts()) {
        const std::string prefix = "gpu" + std::to_string(index++) + "_";
        print[prefix + "name"] = or_unknown(gpu.name);
        print[prefix + "driver"] = or_unknown(gpu.driver);
        print[prefix + "ecc"] = word(gpu.ecc);
        print[prefix + "mig"] = word(gpu.mig);
        print[prefix + "power_limit_w"] = number(gpu.power_limit_w);
        print[prefix + "most_clock_mhz"] = number(gpu.most_clock_mhz);
        print[prefix + "most_memory_clock_mhz"] = number(gpu.most_memory_clock_mhz);
    }
}

}  // namespace

Fingerprint machine_fingerprint() {
    const std::string cpuinfo = read_line_or_empty("/proc/cpuinfo");
    const std::string meminfo = read_line_or_empty("/proc/meminfo");
    utsname system{};
    ::uname(&system);
    Fingerprint print;
    print["cpu_model"] = or_unknown(field_of(cpuinfo, "model name", ':'));
    print["cpu_class"] =
        cpu_class_of(field_of(cpuinfo, "vendor_id", ':'), field_of(cpuinfo, "cpu family", ':'),
                     field_of(cpuinfo, "flags", ':'));
    print["cpu_flags_sha256"] = flags_hash(cpuinfo);
    print["cpus"] = std::to_string(::sysconf(_SC_NPROCESSORS_ONLN));
    print["kernel"] = std::string(system.sysname) + " " + system.release;
    const auto memory_kb = std::strtoull(field_of(meminfo, "MemTotal", ':').c_str(), nullptr, 10);
    print["memory_bytes"] = std::to_string(memory_kb * 1024);
    const HostSettings settings = host_settings();
    print["governor"] = or_unknown(settings.governor);
    print["turbo"] = or_unknown(settings.turbo);
    print["smt"] = or_unknown(settings.smt_control);
    print["thp"] = or_unknown(settings.huge_pages);
    const std::string product = read_line_or_empty("/sys/class/dmi/id/product_name");
    print["hypervisor"] = settings.hypervisor ? or_unknown(product) : "none";
    print["steady_revision"] = steady_revision();
    print["os"] = or_unknown(field_of(read_line_or_empty("/etc/os-release"), "PRETTY_NAME", '='));
    add_gpus(print);
    return print;
}

void add_file(Fingerprint& fingerprint, const std::string& name, const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    fingerprint[name + "_sha256"] = cached_sha256_hex(path);
    fingerprint[name + "_bytes"] = error ? "unknown" : std::to_string(bytes);
}

}  // namespace steady
