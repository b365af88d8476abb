// NVML, the library that comes with NVIDIA's driver: what a GPU is and how it runs. It is loaded at
// run time, so that one program serves machines with and without a GPU. Its functions have a stable
// C interface; callers declare the few that they use by calling them.
#pragma once

#include <optional>
#include <string>

namespace steady {

class Nvml {
public:
    using Device = void*;

    explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    // False without a driver, and for a file that is no NVML.
    bool ready() const { return ready_; }

    // True if the driver has the function and it succeeded.
    template <class... Arguments>
    bool call(const char* function, Arguments... arguments) const {
        constexpr int kSuccess = 0;
        const auto pointer = reinterpret_cast<int (*)(Arguments...)>(find(function));
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
    void* find(const char* function) const;

    void* library_ = nullptr;
    bool ready_ = false;
};

// Which clock a function means.
constexpr unsigned kNvmlGraphicsClock = 0, kNvmlSmClock = 1, kNvmlMemoryClock = 2;

}  // namespace steady
