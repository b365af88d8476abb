// The engine checks the file: it refuses weights of another model or build, and the caller then
// makes a new file.
#include "runner/programs/steady_engine/prepared_weights.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace steady {
namespace {

std::uint64_t allocated(const Fd& file) {
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return 0;
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

}  // namespace

void PreparedWeights::begin(const std::string& model_path) {
    struct stat model {};  // a missing file is the engine's to report
    ::stat(model_path.c_str(), &model);
    model_bytes_ = static_cast<std::uint64_t>(model.st_size);
    // A fifth for layouts that differ: more would displace the page cache.
    const bool crowded = allocated(file_) > model_bytes_ + model_bytes_ / 5;
    if (!file_ || crowded) renew();
}

bool PreparedWeights::filled() const { return allocated(file_) > 0; }

void PreparedWeights::renew() {
    drop();
    // Sparse: pages come with the weights. Two layouts of everything and float copies find room.
    const std::uint64_t room = 3 * model_bytes_ + (std::uint64_t{1} << 30U);
    file_ = Fd{::memfd_create("steady-weights", MFD_CLOEXEC)};
    if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(room)) != 0) {
        throw Error{"cannot make a memory file for the weights", kExitInternal};
    }
}

}  // namespace steady
