// Settings of a machine, from /sys and /proc.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "runner/platform/files.h"
#include "runner/platform/host_checks.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

// "always [madvise] never" → "madvise"
std::string chosen(const std::string& text) {
    const auto open = text.find('['), close = text.find(']');
    if (open == std::string::npos || close == std::string::npos) return text;
    return text.substr(open + 1, close - open - 1);
}

std::string turbo(const std::string& cpu) {
    const std::string off = read_line_or_empty(cpu + "/intel_pstate/no_turbo");
    if (!off.empty()) return off == "0" ? "on" : "off";
    const std::string boost = read_line_or_empty(cpu + "/cpufreq/boost");
    if (boost.empty()) return "";
    return boost == "1" ? "on" : "off";
}

// Entries of `folder` whose names are `prefix` and a number.
std::vector<std::string> numbered(const std::string& folder, const std::string& prefix) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (name.size() > prefix.size() && name.rfind(prefix, 0) == 0 &&
            std::all_of(name.begin() + static_cast<long>(prefix.size()), name.end(), ::isdigit)) {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

HostSettings host_settings(const std::string& root) {
    const std::string cpu = root + "/sys/devices/system/cpu";
    HostSettings settings;
    const auto cpus = numbered(cpu, "cpu");
    settings.cpus = std::max<int>(1, static_cast<int>(cpus.size()));
    for (const std::string& name : cpus) {
        const std::string siblings =
            read_line_or_empty(cpu + "/" + name + "/topology/thread_siblings_list");
        if (siblings.find_first_of(",-") != std::string::npos) {
            settings.shared_core = siblings;
            break;
        }
    }
    settings.smt_control = read_line_or_empty(cpu + "/smt/control");
    settings.governor = read_line_or_empty(cpu + "/cpu0/cpufreq/scaling_governor");
    settings.turbo = turbo(cpu);
    settings.huge_pages =
        chosen(read_line_or_empty(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
    settings.clock_source = read_line_or_empty(
        root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    settings.numa_nodes = std::max<int>(
        1, static_cast<int>(numbered(root + "/sys/devices/system/node", "node").size()));
    const std::string paranoid = read_line_or_empty(root + "/proc/sys/kernel/perf_event_paranoid");
    if (!paranoid.empty()) settings.perf_paranoid = std::atoi(paranoid.c_str());
    std::istringstream lines(read_line_or_empty(root + "/proc/cpuinfo"));
    for (std::string line; std::getline(lines, line) && !settings.hypervisor;) {
        settings.hypervisor =
            line.rfind("flags", 0) == 0 && (line + " ").find(" hypervisor ") != std::string::npos;
    }
    return settings;
}

}  // namespace steady
