// The engine checks the file: it refuses weights of another model or build, and the caller then
// makes a new file.
#include "runner/programs/steady_engine/prepared_weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/error.h"

namespace steady {
namespace {

std::uint64_t allocated(const Fd& file) {
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return 0;
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

constexpr std::size_t kHuge = std::size_t{2} << 20U;
constexpr std::size_t kPartBytes = std::size_t{32} << 20U;
constexpr int kCollapseAdvice = 25;  // MADV_COLLAPSE, Linux 6.1

// Bytes from the start of the file to the end of its last data.
std::size_t data_end(int file) {
    off_t end = 0;
    for (off_t at = ::lseek(file, 0, SEEK_DATA); at >= 0; at = ::lseek(file, end, SEEK_DATA)) {
        end = ::lseek(file, at, SEEK_HOLE);
        if (end < 0) return 0;
    }
    return static_cast<std::size_t>(end);
}

// Addresses for one part of a file, at a multiple of a huge page.
class Window {
public:
    Window() {
        room_ = ::mmap(nullptr, kPartBytes + kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    ~Window() {
        if (room_ != MAP_FAILED) ::munmap(room_, kPartBytes + kHuge);
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    // Null when the system refuses.
    void* show(int file, std::size_t at, std::size_t n, int protection) {
        if (room_ == MAP_FAILED) return nullptr;
        const auto address = (reinterpret_cast<std::uintptr_t>(room_) + kHuge - 1) / kHuge * kHuge;
        void* data = ::mmap(reinterpret_cast<void*>(address), n, protection, MAP_SHARED | MAP_FIXED,
                            file, static_cast<off_t>(at));
        return data == MAP_FAILED ? nullptr : data;
    }

private:
    void* room_ = MAP_FAILED;
};

bool move_part(int from, int to, std::size_t at, std::size_t n, Window& source, Window& target) {
    const void* old = source.show(from, at, n, PROT_READ);
    void* fresh = target.show(to, at, n, PROT_READ | PROT_WRITE);
    if (old == nullptr || fresh == nullptr) return false;
    ::madvise(fresh, n, kCollapseAdvice);  // without huge pages everything works, slower
    std::memcpy(fresh, old, n);
    return ::fallocate(from, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                       static_cast<off_t>(n)) == 0;
}

// Pages that one part gives back are the next part's, so the order decides where each lies.
std::vector<std::size_t> parts_in_order(std::size_t n, std::uint64_t seed) {
    std::vector<std::size_t> parts(n);
    std::iota(parts.begin(), parts.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    for (std::size_t i = n; i > 1; --i) std::swap(parts[i - 1], parts[random() % i]);
    return parts;
}

}  // namespace

void PreparedWeights::begin(const std::string& model_path) {
    struct stat model {};  // a missing file is the engine's to report
    ::stat(model_path.c_str(), &model);
    model_bytes_ = static_cast<std::uint64_t>(model.st_size);
    // A fifth for layouts that differ: more would displace the page cache.
    const bool crowded = allocated(file_) > model_bytes_ + model_bytes_ / 5;
    inherited_ = filled() && !crowded;
    if (!file_ || crowded) renew();
}

bool PreparedWeights::filled() const { return allocated(file_) > 0; }

void PreparedWeights::renew() {
    drop();
    file_ = new_file();
    placed_anew();
}

Fd PreparedWeights::new_file() const {
    // Sparse: pages come with the weights. Two layouts of everything and float copies find room.
    const std::uint64_t room = 3 * model_bytes_ + (std::uint64_t{1} << 30U);
    Fd file{::memfd_create("steady-weights", MFD_CLOEXEC)};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(room)) != 0) {
        throw Error{"cannot make a memory file for the weights", kExitInternal};
    }
    return file;
}

void PreparedWeights::placed_anew() {
    inherited_ = false;
    placement_ = std::random_device{}() | 1U;
}

std::optional<double> PreparedWeights::redraw(std::uint64_t seed) {
    if (!filled()) return std::nullopt;
    const auto began = std::chrono::steady_clock::now();
    Fd fresh = new_file();
    const std::size_t end = data_end(file_.get());
    const std::size_t n_parts = (end + kPartBytes - 1) / kPartBytes;
    {
        Window source, target;
        for (const std::size_t part : parts_in_order(n_parts, seed)) {
            const std::size_t at = part * kPartBytes;
            const std::size_t n = std::min(kPartBytes, end - at);
            if (move_part(file_.get(), fresh.get(), at, n, source, target)) continue;
            renew();
            return std::nullopt;
        }
    }
    file_ = std::move(fresh);
    placed_anew();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace steady
