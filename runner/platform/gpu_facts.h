// What the machine's GPUs are, for fingerprint and doctor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace steady {

// As NVML, the driver's own library, tells it; a value that this GPU does not tell is absent.
struct GpuFacts {
    std::string name, driver;
    std::optional<bool> ecc, mig, persistence;
    std::optional<unsigned> power_limit_w, usual_power_w;  // enforced now, and the driver's default
    std::optional<unsigned> clock_mhz, most_clock_mhz, most_memory_clock_mhz;
    std::size_t other_processes = 0;  // that compute on it
};

// In the order of the driver; empty where there is no driver or no GPU. `library`: the file to
// load.
std::vector<GpuFacts> gpu_facts(const std::string& library = "libnvidia-ml.so.1");

}  // namespace steady
