// NVML is loaded at run time, so that one program serves machines with and without a GPU. Its
// functions have a stable C interface; only those that are used are declared here.
#include "runner/platform/gpu_facts.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

namespace steady {
namespace {

using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kGraphicsClock = 0, kMemoryClock = 2;

struct Process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

class Nvml {
public:
    explicit Nvml(const std::string& file) : library_(::dlopen(file.c_str(), RTLD_NOW)) {
        ready_ = call("nvmlInit_v2");
    }
    ~Nvml() {
        if (ready_) call("nvmlShutdown");
        if (library_ != nullptr) ::dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    bool ready() const { return ready_; }

    // True if the driver has the function and it succeeded.
    template <class... Arguments>
    bool call(const char* function, Arguments... arguments) const {
        if (library_ == nullptr) return false;
        const auto pointer = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, function));
        return pointer != nullptr && pointer(arguments...) == kSuccess;
    }

    template <class... Arguments>
    std::optional<unsigned> number(const char* function, Device device,
                                   Arguments... arguments) const {
        unsigned value = 0;
        if (!call(function, device, arguments..., &value)) return std::nullopt;
        return value;
    }

private:
    void* library_ = nullptr;
    bool ready_ = false;
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
    facts.clock_mhz = nvml.number("nvmlDeviceGetClockInfo", device, kGraphicsClock);
    facts.most_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", device, kGraphicsClock);
    facts.most_memory_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
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
