// A library in NVML's place, with one GPU at PCI address 0000:19:00.0. The environment says what it
// tells: FAKE_SM_MHZ its clock, FAKE_OLD that it is a driver from before 535.
#include <cstdlib>
#include <cstring>

namespace {

int device;
constexpr int kNotFound = 6, kNotSupported = 3;

unsigned number(const char* name, unsigned otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : static_cast<unsigned>(std::atoi(value));
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { return *n = 1, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned /*index*/, void** out) { return *out = &device, 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** out) {
    if (std::strcmp(address, "0000:19:00.0") != 0) return kNotFound;
    *out = &device;
    return 0;
}
int nvmlDeviceGetName(void* /*device*/, char* name, unsigned /*size*/) {
    return std::strcpy(name, "Fake GPU"), 0;
}
int nvmlDeviceGetClockInfo(void* of, unsigned clock, unsigned* mhz) {
    if (of != &device) return kNotFound;
    *mhz = clock == 2 ? 2619 : number("FAKE_SM_MHZ", 1980);
    return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* /*device*/, unsigned long long* reasons) {
    if (std::getenv("FAKE_OLD") != nullptr) return kNotSupported;
    *reasons = 4;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
    return *reasons = 0x20, 0;
}

}  // extern "C"
