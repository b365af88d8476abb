// Any bytes as a model file, used for everything the engine does with one before it computes.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tests/support/gguf_use.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t n = write(descriptor, bytes + done, size - done);
        if (n <= 0) return -1;
        done += static_cast<std::size_t>(n);
    }
    steady::test::use_everything(descriptor);
    return 0;
}
