// CUDA's driver library is loaded by name here: kernels/runtime/ does not tell PCI addresses, and
// its header is part of the hash of persistent variants.
#include "engine/run/gpu_clocks.h"

#include <dlfcn.h>

#include <array>

namespace steady {

std::string pci_address_of_gpu(int index) {
    void* cuda = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == nullptr) return "";
    const auto device_of = reinterpret_cast<int (*)(int*, int)>(::dlsym(cuda, "cuDeviceGet"));
    const auto address_of =
        reinterpret_cast<int (*)(char*, int, int)>(::dlsym(cuda, "cuDeviceGetPCIBusId"));
    std::array<char, 32> text{};
    int device = 0;
    const bool told = device_of != nullptr && address_of != nullptr &&
                      device_of(&device, index) == 0 &&
                      address_of(text.data(), int{text.size()}, device) == 0;
    ::dlclose(cuda);  // the runtime keeps it loaded
    return told ? text.data() : "";
}

GpuClocks::GpuClocks(const std::string& pci_address, const std::string& library) : nvml_(library) {
    if (nvml_.ready() && !pci_address.empty()) {
        nvml_.call("nvmlDeviceGetHandleByPciBusId_v2", pci_address.c_str(), &device_);
    }
}

std::optional<ClockReading> GpuClocks::read() const {
    if (device_ == nullptr) return std::nullopt;
    const auto sm = nvml_.number("nvmlDeviceGetClockInfo", device_, kNvmlSmClock);
    const auto memory = nvml_.number("nvmlDeviceGetClockInfo", device_, kNvmlMemoryClock);
    unsigned long long reasons = 0;
    // Drivers before 535 have the function under its old name only.
    const bool told = nvml_.call("nvmlDeviceGetCurrentClocksEventReasons", device_, &reasons) ||
                      nvml_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons);
    if (!sm || !memory || !told || *sm == 0 || *memory == 0) return std::nullopt;
    return ClockReading{*sm, *memory, reasons};
}

}  // namespace steady
