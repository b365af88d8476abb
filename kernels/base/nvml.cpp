// The library stays loaded for as long as the object lives.
#include "kernels/base/nvml.h"

#include <dlfcn.h>

namespace steady {

Nvml::Nvml(const std::string& file) : library_(::dlopen(file.c_str(), RTLD_NOW)) {
    ready_ = call("nvmlInit_v2");
}

Nvml::~Nvml() {
    if (ready_) call("nvmlShutdown");
    if (library_ != nullptr) ::dlclose(library_);
}

void* Nvml::find(const char* function) const {
    return library_ == nullptr ? nullptr : ::dlsym(library_, function);
}

}  // namespace steady
