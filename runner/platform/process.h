// One child process under supervision: the program under test. It may crash, hang, flood its
// output, fork daemons or exhaust memory; the runner learns which of these happened, and nothing is
// left behind. While an arm is timed the runner sleeps in poll() and uses no CPU.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/platform/files.h"
#include "runner/platform/spawn.h"

namespace steady {

class ProcessTree;

// Asks a running job to stop, from any thread: every poll of a child wakes up.
class StopSignal {
public:
    StopSignal();
    void raise();
    bool raised() const;
    int fd() const { return fd_.get(); }

private:
    Fd fd_;
};

struct ChildOptions {
    std::vector<std::string> argv;           // argv[0]: absolute path
    std::map<std::string, std::string> env;  // beyond the allow-list of child_environment()
    std::string directory;
    std::optional<Identity> run_as;
    Limits limits{.address_space = {},
                  .file_size = std::uint64_t{64} << 20U,
                  .cpu_s = {},
                  .n_files = 256,
                  .n_processes = {}};
    std::vector<std::string> roots;  // argv[0] must lie below one; empty: anywhere
    std::string sha256;              // if set, the program's hash must be this
    int host_lock_fd = -1;           // stays open in the child
    int weights_fd = -1;             // likewise
    const StopSignal* stop = nullptr;
    std::size_t output_cap = std::size_t{1} << 20U;  // bytes on stdout, in all
    std::size_t line_cap = std::size_t{64} << 10U;
    std::size_t stderr_keep = std::size_t{32} << 10U;  // first and last so many bytes
    bool one_stream = false;  // stdout joins stderr: one log in order, without a cap
    double term_grace_s = 2;
    std::shared_ptr<const ProcessTree> tree{};  // it lives in; see process_tree.h
};

enum class Ending { exited, signalled, timeout, output_cap, oom, protocol, cancelled };

// ok (exit code 0), crash (another exit code), signal, timeout, output_cap, oom, protocol,
// cancelled
struct ChildEnd {
    Ending ending = Ending::exited;
    int code = 0;     // exit code, or the signal's number
    std::string out;  // what was not read as lines
    std::string err;  // first and last part
    double cpu_s = 0;
    std::int64_t peak_rss_bytes = 0;

    bool exited_with(int wanted) const { return ending == Ending::exited && code == wanted; }
    bool ok() const { return exited_with(0); }
    std::string outcome() const;
    std::string describe() const;  // one sentence with the end of stderr, redacted
};

class Child {
public:
    // Starts it. Throws Error: not absolute, outside the roots, another hash, not executable.
    // The calling thread must live as long as the child, which dies with it.
    explicit Child(ChildOptions options);
    ~Child();  // kills whatever is left
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }

    // False when the child no longer reads.
    bool write_line(const std::string& line, double timeout_s = 10);

    // The next line of stdout without its newline. Nothing: the child has ended or was ended
    // (timeout, flood, half a line, stop); finish() says why.
    std::optional<std::string> read_line(double timeout_s);

    // Closes its stdin, waits for its end, collects the rest. Kills it after timeout_s.
    ChildEnd finish(double timeout_s);

    // TERM to the group, term_grace_s, KILL. The first reason given is the one reported.
    void end_as(Ending why);

private:
    using Clock = std::chrono::steady_clock;
    enum class Wait { line, end };
    bool pump(Clock::time_point deadline, Wait wait);
    void drain(int fd, bool is_out);
    void take_out(const char* bytes, std::size_t n);
    void take_err(const char* bytes, std::size_t n);
    bool wait_exit(double seconds);
    void reap();
    void sweep();
    bool has_line() const { return out_.find('\n') != std::string::npos; }

    ChildOptions options_;
    std::string nonce_;
    pid_t pid_ = -1;
    Fd in_, out_fd_, err_fd_, pid_fd_;
    std::string out_, err_head_, err_tail_;
    std::size_t out_total_ = 0;
    std::int64_t oom_kills_before_ = 0;
    std::optional<Ending> forced_;
    std::optional<ChildEnd> end_;
};

// Starts, feeds nothing, waits: for programs that print and exit. cap: see ChildOptions.
ChildEnd run_child(ChildOptions options, double timeout_s);

// How often the kernel has killed a process of this machine for memory.
std::int64_t oom_kill_count();

// PATH, HOME, LANG and TZ fixed, nothing else from our own environment: no LD_*, no tokens.
std::map<std::string, std::string> child_environment();

}  // namespace steady
