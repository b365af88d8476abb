// libFuzzer target: any bytes as a model file, used for everything the engine does with one before
// it computes. Run with the seeds and the dictionary of tests/data/fuzz:
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_gguf
//   build/fuzz/bin/fuzz_gguf -dict=tests/data/fuzz/gguf.dict -rss_limit_mb=256 -max_total_time=60
//       build/corpus tests/data/fuzz/seeds          (build/corpus: a folder for what it finds)
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

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
