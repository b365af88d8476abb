// The file: a header, the index, padding to a huge page, then the weights.
#include "engine/model/shared_weights.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "engine/model/weight_store.h"
#include "kernels/base/self_path.h"

namespace steady {
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1
constexpr std::int64_t kPage = 4096;
constexpr char kMagic[16] = "steady-weights1";

struct Header {
    char magic[16];
    char identity[240];  // of model file and program
    std::int64_t used;   // bytes from the start of the file
    std::int64_t n_entries;
};
constexpr auto kMaxEntries =
    static_cast<std::int64_t>((kHugePage - sizeof(Header)) / sizeof(SharedWeights::Entry));

std::string identity_of(const struct stat& file) {
    return fmt::format("{}:{}:{}:{}.{}", file.st_dev, file.st_ino, file.st_size,
                       file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

// Layouts may change from build to build, so that the program is part of the identity.
std::string identity(const GgufFile& file) {
    struct stat model {};
    struct stat program {};
    if (fstat(file.descriptor(), &model) != 0 || stat(self_path().c_str(), &program) != 0)
        return "";
    return identity_of(model) + " " + identity_of(program);
}

void read_at(int descriptor, void* data, std::size_t n, std::int64_t offset) {
    if (pread(descriptor, data, n, offset) != static_cast<ssize_t>(n)) {
        throw Error{"--weights-fd: the memory file cannot be read", kExitInternal};
    }
}

void write_at(int descriptor, const void* data, std::size_t n, std::int64_t offset) {
    if (pwrite(descriptor, data, n, offset) != static_cast<ssize_t>(n)) {
        throw Error{fmt::format("--weights-fd: the memory file cannot be written: {}",
                                std::strerror(errno)),
                    kExitInternal};
    }
}

}  // namespace

std::uint64_t shared_key(const std::string& text) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

SharedWeights::SharedWeights(int descriptor, const GgufFile& file)
    : descriptor_(descriptor), name_(file.path()) {
    struct stat info {};
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR || fstat(descriptor, &info) != 0 ||
        !S_ISREG(info.st_mode) || info.st_size < 2 * kHugePage) {
        throw Error{fmt::format(
            "--weights-fd: {} is not an open memory file of at least 4 MiB that may be written; "
            "make one with memfd_create and ftruncate",
            descriptor)};
    }
    capacity_ = info.st_size / kHugePage * kHugePage;
    const std::string mine = identity(file);
    lock(true);
    Header header{};
    read_at(descriptor, &header, sizeof header, 0);
    if (header.magic[0] == '\0') {
        std::memcpy(header.magic, kMagic, sizeof kMagic);
        mine.copy(header.identity, sizeof header.identity - 1);
        header.used = kHugePage;
        write_at(descriptor, &header, sizeof header, 0);
    }
    lock(false);
    header.identity[sizeof header.identity - 1] = '\0';
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.identity != mine) {
        throw Error{fmt::format(
            "--weights-fd: {} holds something else than weights of {} prepared by this program; "
            "hand down a new memory file",
            descriptor, name_)};
    }
}

SharedWeights::~SharedWeights() {
    for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
}

void SharedWeights::lock(bool on) const {
    struct flock whole {};
    whole.l_type = static_cast<short>(on ? F_WRLCK : F_UNLCK);
    while (fcntl(descriptor_, F_SETLKW, &whole) != 0 && errno == EINTR) {
    }
}

void SharedWeights::begin() {
    lock(true);
    begun_ = true;
    Header header{};
    read_at(descriptor_, &header, sizeof header, 0);
    if (header.n_entries < 0 || header.n_entries > kMaxEntries || header.used < kHugePage ||
        header.used > capacity_) {
        throw Error{"--weights-fd: the memory file's index is damaged", kExitInternal};
    }
    used_ = complete_ = header.used;
    entries_.resize(static_cast<std::size_t>(header.n_entries));
    read_at(descriptor_, entries_.data(), entries_.size() * sizeof(Entry), sizeof header);
}

std::optional<std::int64_t> SharedWeights::find(std::uint64_t key, std::int64_t bytes) const {
    for (const Entry& entry : entries_) {
        const bool inside = entry.offset >= kHugePage && entry.offset + bytes <= complete_;
        if (entry.key == key && entry.bytes == bytes && inside) return entry.offset;
    }
    return std::nullopt;
}

std::int64_t SharedWeights::append(std::uint64_t key, std::int64_t bytes) {
    if (bytes > capacity_ - used_ || static_cast<std::int64_t>(entries_.size()) == kMaxEntries) {
        throw Error{fmt::format(
            "{}: {} of weights are in the memory file that was handed down, {} more do not fit its "
            "{}; make it larger, or give both arms kernels of the same layout",
            name_, human_bytes(used_), human_bytes(bytes), human_bytes(capacity_))};
    }
    entries_.push_back({key, used_, bytes});
    const std::int64_t offset = used_;
    used_ = (used_ + bytes + 63) / 64 * 64;
    return offset;
}

std::byte* SharedWeights::map() {
    const std::int64_t end = (used_ + kHugePage - 1) / kHugePage * kHugePage;
    // An address that is a multiple of a huge page, then the file in its place.
    const auto room = static_cast<std::size_t>(end + kHugePage);
    void* reserved = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) {
        throw Error{fmt::format("cannot map {} of weights", human_bytes(end)), kExitInternal};
    }
    mappings_.push_back({reserved, room});
    const auto at = reinterpret_cast<std::uintptr_t>(reserved);
    const auto aligned = (at + kHugePage - 1) / kHugePage * kHugePage;
    void* data = mmap(reinterpret_cast<void*>(aligned), static_cast<std::size_t>(end),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_, 0);
    if (data == MAP_FAILED) {
        throw Error{
            fmt::format("cannot map {} of weights: {}", human_bytes(end), std::strerror(errno)),
            kExitInternal};
    }
    auto* base = static_cast<std::byte*>(data);
    // Touched now, else the arm that has the first prompt pays for it. MADV_POPULATE_READ was not
    // enough on a virtual machine: journal/benchmarks/2026-11-28-zen5-prompts.md.
    for (std::int64_t i = 0; i < complete_; i += kPage) {
        static_cast<void>(*static_cast<volatile std::byte*>(base + i));
    }
    // Huge pages are asked for while the new part is empty; without them everything works, slower.
    const std::int64_t fresh = complete_ / kHugePage * kHugePage;
    if (end > fresh) {
        madvise(base + fresh, static_cast<std::size_t>(end - fresh), kCollapse);
    }
    return base;
}

void SharedWeights::abandon() {
    if (begun_) lock(false);
    begun_ = false;
}

void SharedWeights::publish() {
    if (!begun_) return;
    write_at(descriptor_, entries_.data(), entries_.size() * sizeof(Entry), sizeof(Header));
    const std::int64_t numbers[2] = {used_, static_cast<std::int64_t>(entries_.size())};
    write_at(descriptor_, numbers, sizeof numbers, offsetof(Header, used));
    complete_ = used_;
    // A kernel that writes where it should not must not reach the processes after this one.
    for (const Mapping& mapping : mappings_) mprotect(mapping.address, mapping.bytes, PROT_READ);
    abandon();
}

}  // namespace steady
