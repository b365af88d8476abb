// A value that NVML refuses to tell stays absent.
#include "runner/platform/gpu_facts.h"

#include <unistd.h>

#include <array>

#include "kernels/base/nvml.h"

namespace steady {
namespace {

using Device = Nvml::Device;

struct Process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

std::optional<unsigned> watts(std::optional<unsigned> milliwatts) {
    if (milliwatts) *milliwatts /= 1000;
    return milliwatts;
}

std::optional<bool> mode(const Nvml& nvml, const char* function, Device device) {
    unsigned now = 0, pending = 0;
    if (!nvml.call(function, device, &now, &pending)) return std::nullopt;
    return now != 0;
}

std::size_t others_on(const Nvml& nvml, Device device) {
    std::array<Process, 64> processes{};
    unsigned n = processes.size();
    if (!nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &n, processes.data())) {
        return 0;
    }
    std::size_t others = 0;
    for (unsigned i = 0; i < n; ++i) {
        others += processes[i].pid != static_cast<unsigned>(::getpid()) ? 1 : 0;
    }
    return others;
}

GpuFacts facts_of(const Nvml& nvml, Device device) {
    GpuFacts facts;
    std::array<char, 128> text{};
    if (nvml.call("nvmlDeviceGetName", device, text.data(), unsigned{text.size()}))
        facts.name = text.data();
    if (nvml.call("nvmlSystemGetDriverVersion", text.data(), unsigned{text.size()}))
        facts.driver = text.data();
    facts.ecc = mode(nvml, "nvmlDeviceGetEccMode", device);
    facts.mig = mode(nvml, "nvmlDeviceGetMigMode", device);
    if (const auto on = nvml.number("nvmlDeviceGetPersistenceMode", device))
        facts.persistence = *on != 0;
    facts.power_limit_w = watts(nvml.number("nvmlDeviceGetEnforcedPowerLimit", device));
    facts.usual_power_w = watts(nvml.number("nvmlDeviceGetPowerManagementDefaultLimit", device));
    facts.clock_mhz = nvml.number("nvmlDeviceGetClockInfo", device, kNvmlGraphicsClock);
    facts.most_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", device, kNvmlGraphicsClock);
    facts.most_memory_clock_mhz =
        nvml.number("nvmlDeviceGetMaxClockInfo", device, kNvmlMemoryClock);
    facts.other_processes = others_on(nvml, device);
    return facts;
}

}  // namespace

std::vector<GpuFacts> gpu_facts(const std::string& library) {
    const Nvml nvml(library);
    std::vector<GpuFacts> found;
    unsigned n = 0;
    if (!nvml.ready() || !nvml.call("nvmlDeviceGetCount_v2", &n)) return found;
    for (unsigned i = 0; i < n; ++i) {
        Device device = nullptr;
        if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device))
            found.push_back(facts_of(nvml, device));
    }
    return found;
}

}  // namespace steady
