// Header bytes by pread into reserved address space.
#include "engine/gguf/window.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/gguf/gguf_error.h"

namespace steady {

void read_exactly(int descriptor, const std::string& file, std::uint64_t offset,
                  std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const std::span<std::byte> rest = into.subspan(done);
        const std::size_t ask = std::min(rest.size(), std::size_t{1} << 30);
        const ssize_t got = pread(descriptor, rest.data(), ask, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            throw GgufError(file, offset + done, "reading", std::strerror(errno),
                            "a readable file on a healthy disk");
        }
        if (got == 0) {
            throw GgufError(file, offset + done, "reading", "the end of the file",
                            fmt::format("{} more bytes; the file has shrunk since it was opened",
                                        into.size() - done));
        }
        done += static_cast<std::size_t>(got);
    }
}

HeaderWindow::HeaderWindow(int descriptor, std::uint64_t file_bytes, std::string file)
    : descriptor_(descriptor), file_(std::move(file)) {
    size_ = static_cast<std::size_t>(std::min(file_bytes, kMaxBytes));
    if (size_ == 0) return;
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        throw GgufError(file_, 0, "header", std::strerror(errno),
                        fmt::format("{} bytes of address space (see ulimit -v)", size_));
    }
    base_ = static_cast<std::byte*>(mapped);
}

HeaderWindow::~HeaderWindow() {
    if (base_ != nullptr) munmap(base_, size_);
}

void HeaderWindow::load(std::uint64_t end) {
    if (end <= loaded_) return;
    constexpr std::size_t kStep = std::size_t{1} << 18;
    const std::size_t wanted = std::max(static_cast<std::size_t>(end), loaded_ + kStep);
    const std::size_t upto = std::min(wanted, size_);
    read_exactly(descriptor_, file_, loaded_, {base_ + loaded_, upto - loaded_});
    loaded_ = upto;
}

}  // namespace steady
