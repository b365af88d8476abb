// The clocks of the GPU in use, as the driver tells them: read between timed regions, so that a
// record shows whether both arms ran at the same clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/nvml.h"

namespace steady {

struct ClockReading {
    unsigned sm_mhz = 0, memory_mhz = 0;
    std::uint64_t reasons = 0;  // why the clocks are not higher: NVML's clocks event reasons
};

// The PCI address of CUDA's GPU `index`, by which NVML knows it too: the two libraries count GPUs
// in different orders, and CUDA may not see all of them. Empty where CUDA does not tell.
std::string pci_address_of_gpu(int index);

class GpuClocks {
public:
    // `library`: the file to load instead of the driver's.
    explicit GpuClocks(const std::string& pci_address,
                       const std::string& library = "libnvidia-ml.so.1");

    // Nothing where the driver does not tell clocks.
    std::optional<ClockReading> read() const;

private:
    Nvml nvml_;
    Nvml::Device device_ = nullptr;
};

}  // namespace steady
