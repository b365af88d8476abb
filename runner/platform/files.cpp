// Thin wrappers over POSIX files; every failure becomes an Error that names the path.
#include "runner/platform/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/self_path.h"
#include "runner/platform/settings.h"

namespace steady {
namespace {

// What a user can do about it; empty where only the path tells.
const char* advice(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
            return "; this user lacks the right: give it, or name another place";
        case EROFS:
            return "; the file system is read-only: name another place";
        case ENOSPC:
        case EDQUOT:
            return "; make room on that disk, or name a place on another one";
        default:
            return "";
    }
}

[[noreturn]] void fail(const char* what, const std::string& path) {
    const int error = errno;
    throw Error{fmt::format("cannot {} {}: {}{}", what, path, std::strerror(error), advice(error)),
                kExitInternal};
}

std::string to_hex(const unsigned char* bytes, std::size_t n) {
    std::string text;
    text.reserve(2 * n);
    for (std::size_t i = 0; i < n; ++i)
        fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
    return text;
}

class Sha256 {
public:
    Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
    }
    void add(const void* bytes, std::size_t n) { EVP_DigestUpdate(context_.get(), bytes, n); }
    std::string hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned n = 0;
        EVP_DigestFinal_ex(context_.get(), digest.data(), &n);
        return to_hex(digest.data(), n);
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("write", path);
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void Fd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

std::string state_dir() {
    if (const auto set = setting("state_dir"); !set.empty()) return set;
    if (::geteuid() == 0) return "/var/lib/steady";
    if (const auto xdg = environment("XDG_STATE_HOME"); !xdg.empty()) return xdg + "/steady";
    if (const auto home = environment("HOME"); !home.empty()) return home + "/.local/state/steady";
    throw Error{
        "no place for Steady's state: HOME is not set; set STEADY_STATE_DIR to a directory"};
}

std::string scratch_dir() {
    struct statvfs info {};
    const bool roomy =
        ::statvfs("/dev/shm", &info) == 0 &&
        static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) > 1e9;
    return roomy && ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

std::string self_exe_dir() {
    const std::filesystem::path folder = std::filesystem::path(self_path()).parent_path();
    const bool part = folder.parent_path().filename() == "libexec" && folder.filename() == "steady";
    return (part ? folder.parent_path().parent_path() / "bin" : folder).string();
}

std::string read_file(const std::string& path) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) fail("open", path);
    std::string bytes;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("read", path);
        if (n == 0) return bytes;
        bytes.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

std::string read_named_file(const std::string& path) try {
    return read_file(path);
} catch (const Error& error) {
    throw Error(error.what());
}

std::string read_line_or_empty(const std::string& path) {
    try {
        std::string text = read_file(path);
        while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
            text.pop_back();
        }
        return text;
    } catch (const Error&) {
        return "";
    }
}

void write_file_atomic(const std::string& path, std::string_view bytes) {
    const std::string beside = fmt::format("{}.{}.new", path, random_hex(4));
    try {
        const Fd fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
        if (!fd) fail("create", path);
        write_all(fd.get(), bytes, path);
        if (::fsync(fd.get()) != 0) fail("fsync", path);
    } catch (const Error&) {
        ::unlink(beside.c_str());  // a part of a file, on a full disk
        throw;
    }
    if (::rename(beside.c_str(), path.c_str()) != 0) {
        ::unlink(beside.c_str());
        fail("rename to", path);
    }
    const auto parent = std::filesystem::path(path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    const Fd directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (directory) ::fsync(directory.get());
}

namespace {

bool in_state_folder(const std::string& path) {
    const int error = errno;
    bool inside = false;
    try {
        inside = (path + "/").starts_with(state_dir() + "/");
    } catch (const Error&) {
        inside = false;  // there is none
    }
    errno = error;
    return inside;
}

}  // namespace

void make_directories(const std::string& path, mode_t mode) {
    std::string so_far;
    for (std::size_t at = 0; at != std::string::npos;) {
        at = path.find('/', at + 1);
        so_far = path.substr(0, at);
        if (so_far.empty() || ::mkdir(so_far.c_str(), mode) == 0 || errno == EEXIST) continue;
        if (struct stat info{}; ::stat(so_far.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
            continue;
        if (!in_state_folder(path)) fail("create the directory", so_far);
        throw Error{fmt::format("cannot create the directory {} for Steady's state: {}; set "
                                "STEADY_STATE_DIR to a folder that this user may write to",
                                so_far, std::strerror(errno)),
                    kExitInternal};
    }
}

std::string sha256_hex_of(int fd, const std::string& path_for_messages) {
    Sha256 hash;
    std::vector<char> buffer(1 << 20);
    for (off_t at = 0;;) {
        const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("read", path_for_messages);
        if (n == 0) return hash.hex();
        hash.add(buffer.data(), static_cast<std::size_t>(n));
        at += n;
    }
}

std::string cached_sha256_hex(const std::string& path) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) fail("open", path);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) fail("stat", path);
    const std::string key =
        fmt::format("{}|{}|{}.{:09}|{}", std::filesystem::weakly_canonical(path).string(),
                    info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ino);
    const std::string cache_path = state_dir() + "/hashes.json";
    auto cache = nlohmann::json::parse(read_line_or_empty(cache_path), nullptr, false);
    if (!cache.is_object()) cache = nlohmann::json::object();
    if (cache.contains(key) && cache[key].is_string()) return cache[key].get<std::string>();

    const std::string hash = sha256_hex_of(fd.get(), path);
    cache[key] = hash;
    try {  // a cache that cannot be written costs time, not truth
        make_directories(state_dir());
        write_file_atomic(cache_path, cache.dump(1));
    } catch (const Error&) {
        return hash;
    }
    return hash;
}

std::string random_hex(int n_bytes) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(n_bytes));
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        fail("read random bytes from", "the kernel");
    }
    return to_hex(bytes.data(), bytes.size());
}

std::string random_uuid() {
    std::string hex = random_hex(16);
    hex[12] = '4';
    hex[16] = "89ab"[hex[16] % 4];
    return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                       hex.substr(16, 4), hex.substr(20));
}

}  // namespace steady
