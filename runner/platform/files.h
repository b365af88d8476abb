// Files as the runner needs them: whole reads, atomic writes, hashes, and the two directories that
// every part must agree on (where state lives, where our own binaries lie).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace steady {

// A file descriptor that closes itself. -1 is "none".
class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept;
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

private:
    int fd_ = -1;
};

// $STEADY_STATE_DIR, else /var/lib/steady as root, else $XDG_STATE_HOME/steady or
// ~/.local/state/steady. Not created here.
std::string state_dir();

// For what need not outlive the machine: /dev/shm where it has a gigabyte to spare, else /tmp.
std::string scratch_dir();

// The directory of `steady`, where steady-engine and steady-kernels lie as well: that of the
// running executable, and <prefix>/bin for one in <prefix>/libexec/steady.
std::string self_exe_dir();

// The whole file. Throws Error with the path and the system's reason.
std::string read_file(const std::string& path);

// The same of a file that a user named: that it cannot be read is bad input (exit code 2).
std::string read_named_file(const std::string& path);

// The file's text without trailing white space, or "" when it cannot be read (for /proc and /sys).
std::string read_line_or_empty(const std::string& path);

// Writes beside the target, fsyncs, renames over it and fsyncs the directory: a reader sees the old
// file or the new one, never half of either. Throws Error.
void write_file_atomic(const std::string& path, std::string_view bytes);

// mkdir -p with `mode` for what is created. Throws Error.
void make_directories(const std::string& path, mode_t mode = 0755);

// SHA-256 of a file's content, read through the open descriptor from offset 0. Throws Error.
std::string sha256_hex_of(int fd, const std::string& path_for_messages);

// SHA-256 of a possibly huge file. Remembered in `<state_dir()>/hashes.json` by path, size, mtime
// and inode, since hashing 17 GB takes longer than the experiment that needs it.
std::string cached_sha256_hex(const std::string& path);

// n random bytes as lower-case hex, from the kernel.
std::string random_hex(int n_bytes);

// A random (version 4) UUID: identity of one worker process, never reused.
std::string random_uuid();

}  // namespace steady
