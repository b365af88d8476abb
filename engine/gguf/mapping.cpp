// The signal handler may only read lock-free atomics and call write and _exit, so that mappings are
// kept in a small fixed table instead of a container. A fault outside of our mappings goes to the
// handler that was there before.
#include "engine/gguf/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "engine/gguf/gguf_error.h"

namespace steady {
namespace {

struct Slot {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::array<char, 256> file{};
};

std::array<Slot, 64> slots;
std::mutex slots_mutex;
struct sigaction previous_action;

void put(const char* text) {
    const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
    static_cast<void>(ignored);
}

void put_number(std::uintptr_t value) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1;
    do {
        digits[--at] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put(digits.data() + at);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (Slot& slot : slots) {
        const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= slot.end.load()) continue;
        put("error: ");
        put(slot.file.data());
        put(": byte ");
        put_number(address - begin);
        put(": reading: found the end of the file, allowed: a file that keeps its size; "
            "it has shrunk since it was opened\n");
        _exit(kExitUsage);
    }
    if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
        previous_action.sa_sigaction(signal, info, context);
        return;
    }
    std::signal(SIGBUS, SIG_DFL);  // the fault happens again, without us
}

void install_handler() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action {};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &previous_action);
    });
}

}  // namespace

FileMapping::FileMapping(int descriptor, std::uint64_t bytes, const std::string& file)
    : size_(static_cast<std::size_t>(bytes)) {
    if (size_ == 0) return;
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) {
        throw GgufError(file, 0, "mapping", std::strerror(errno),
                        "a file that can be mapped (see ulimit -v)");
    }
    base_ = static_cast<const std::byte*>(mapped);
    install_handler();
    const std::lock_guard lock(slots_mutex);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Slot& slot = slots[i];
        if (slot.begin.load() != 0) continue;
        const std::string shown = printable(file, slot.file.size() - 8);
        std::strncpy(slot.file.data(), shown.c_str(), slot.file.size() - 1);
        const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
        slot.end.store(begin + size_);
        slot.begin.store(begin, std::memory_order_release);
        slot_ = static_cast<int>(i);
        return;
    }
    munmap(mapped, size_);
    throw GgufError(file, 0, "mapping", "64 mapped files", "at most 64 at a time");
}

FileMapping::~FileMapping() {
    if (slot_ < 0) return;
    {
        const std::lock_guard lock(slots_mutex);
        slots[static_cast<std::size_t>(slot_)].begin.store(0);
    }
    munmap(const_cast<std::byte*>(base_), size_);
}

}  // namespace steady
