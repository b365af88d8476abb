// A program under test with bad intentions: each verb is one attempt, and exit code 0 says that it
// worked. The tests run each attempt without confinement as well, where it must work: an attempt
// that cannot succeed proves nothing.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kWorked = 0, kFailed = 1, kUsage = 64;

int worked(bool yes) { return yes ? kWorked : kFailed; }

int connect_unix(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return worked(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

int connect_tcp(const std::string& port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return worked(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

int read_path(const std::string& path) {
    if (DIR* folder = ::opendir(path.c_str())) {
        ::closedir(folder);
        return kWorked;
    }
    const int fd = ::open(path.c_str(), O_RDONLY);
    char byte = 0;
    return worked(fd >= 0 && ::read(fd, &byte, 1) == 1);
}

int write_path(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0644);
    return worked(fd >= 0 && ::write(fd, "x", 1) == 1);
}

// Any process whose environment holds the word, ourselves included.
int find_secret(const std::string& word) {
    DIR* processes = ::opendir("/proc");
    while (const dirent* entry = ::readdir(processes)) {
        std::ifstream in(std::string("/proc/") + entry->d_name + "/environ", std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        if (text.str().find(word) != std::string::npos) return kWorked;
    }
    return kFailed;
}

// A process that belongs to nobody: own session, no parent, no environment to be known by.
int outlive(const std::string& self, const std::string& file) {
    if (::fork() != 0) return kWorked;
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int fd = 0; fd < 64; ++fd) ::close(fd);
    const char* arguments[] = {self.c_str(), "beat", file.c_str(), nullptr};
    const char* nothing[] = {nullptr};
    ::execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(nothing));
    ::_exit(1);
}

// A sign of life fifty times a second; ends by itself, should a test fail to end it.
int beat(const std::string& file) {
    ::signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 1500; ++i) {
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        [[maybe_unused]] const auto n = ::write(fd, "x", 1);
        ::close(fd);
        ::usleep(20000);
    }
    return kWorked;
}

int fork_many(int wanted) {
    std::vector<pid_t> children;
    while (static_cast<int>(children.size()) < wanted) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::pause();
            ::_exit(0);
        }
        if (pid < 0) break;
        children.push_back(pid);
    }
    std::printf("%zu\n", children.size());
    for (const pid_t pid : children) ::kill(pid, SIGKILL);
    while (::wait(nullptr) > 0) {
    }
    return worked(static_cast<int>(children.size()) == wanted);
}

// Never returns by itself: each process begets two, and all of them go on.
int fork_bomb() {
    ::signal(SIGTERM, SIG_IGN);
    for (;;) {
        ::fork();
        ::usleep(1000);
    }
}

// Writes without an end, on both streams.
int flood() {
    const std::string block(65536, 'x');
    for (;;) {
        std::fwrite(block.data(), 1, block.size(), stdout);
        std::fwrite(block.data(), 1, 16, stderr);
    }
}

// Does nothing, and takes no hint.
int hang() {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
    for (;;) ::pause();
}

// A lock of the host that a descriptor of ours holds is anybody's to undo.
int unlock() {
    bool any = false;
    for (int fd = 3; fd < 256; ++fd) any = ::flock(fd, LOCK_UN) == 0 || any;
    return worked(any);
}

// Stops whoever watches us.
int freeze_parent() {
    ::kill(::getppid(), SIGSTOP);
    for (;;) ::pause();
}

int take_memory(std::size_t bytes) {
    auto* memory = static_cast<volatile char*>(std::malloc(bytes));
    for (std::size_t at = 0; memory != nullptr && at < bytes; at += 4096) memory[at] = 1;
    return worked(memory != nullptr);
}

// In several processes at once, none of which has much.
int take_memories(int n, std::size_t bytes) {
    int told[2], wait[2];
    if (::pipe(told) != 0 || ::pipe(wait) != 0) return kUsage;
    for (int i = 0; i < n; ++i) {
        if (::fork() != 0) continue;
        ::close(wait[1]);
        const bool there = take_memory(bytes) == kWorked && ::write(told[1], "x", 1) == 1;
        ::close(told[1]);
        char end = 0;
        [[maybe_unused]] const auto ended = ::read(wait[0], &end, 1);  // until all were asked
        ::_exit(there ? 0 : 1);
    }
    ::close(told[1]);
    for (char byte = 0; ::read(told[0], &byte, 1) == 1;) {
    }
    ::close(wait[1]);
    // Out of memory, the kernel may end one that has all of its own and waits for the others.
    int held = 0;
    for (int status = 0; ::wait(&status) > 0;)
        held += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return worked(held == n);
}

int fill(const std::string& path, std::size_t bytes) {
    std::ofstream out(path, std::ios::binary);
    const std::string block(65536, 'x');
    for (std::size_t at = 0; at < bytes && out; at += block.size()) out << block;
    out.close();
    const bool all = static_cast<bool>(out);
    ::unlink(path.c_str());
    return worked(all);
}

int attempt(const std::vector<std::string>& words) {
    const std::string& verb = words[1];
    const std::string what = words.size() > 2 ? words[2] : "";
    if (verb == "unix") return connect_unix(what);
    if (verb == "tcp") return connect_tcp(what);
    if (verb == "read") return read_path(what);
    if (verb == "write") return write_path(what);
    if (verb == "secret") return find_secret(what);
    if (verb == "signal") return worked(::kill(std::stoi(what), 0) == 0);
    if (verb == "mount") return worked(::mount("none", what.c_str(), "tmpfs", 0, nullptr) == 0);
    if (verb == "root") return worked(::geteuid() == 0);
    if (verb == "become") {
        ::execl(what.c_str(), what.c_str(), "root", nullptr);
        return kFailed;
    }
    if (verb == "outlive") return outlive(words[0], what);
    if (verb == "beat") return beat(what);
    if (verb == "forks") return fork_many(std::stoi(what));
    if (verb == "bomb") return fork_bomb();
    if (verb == "flood") return flood();
    if (verb == "hang") return hang();
    if (verb == "unlock") return unlock();
    if (verb == "freeze") return freeze_parent();
    if (verb == "memory") return take_memory(std::stoull(what));
    if (verb == "memories") return take_memories(std::stoi(what), std::stoull(words.at(3)));
    if (verb == "fill") return fill(what, std::stoull(words.at(3)));
    return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    return argc < 2 ? kUsage : attempt(words);
}
