// A program for the tests of lockstep, by the C++ client that users get: burns some work per
// repetition, or misbehaves as its argument says.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>

#include "runner/programs/lockstep/clients/steady_lockstep.h"

namespace {

volatile std::uint64_t sink;

// Of this thread: what it waited for a CPU does not count.
double cpu_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

void burn(long steps) {
    std::uint64_t x = 88172645463325252ULL;
    for (long i = 0; i < steps; ++i) {
        x ^= x << 13U;
        x ^= x >> 7U;
        x ^= x << 17U;
    }
    sink = x;
}

// Protocol spoken wrongly, without the client.
int misbehave(const std::string& how) {
    char line[256];
    if (how == "mute") {
        ::sleep(100);
    }
    if (how == "old") {
        std::puts("ready 0");
        std::fflush(stdout);
    }
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        const bool hello = std::strncmp(line, "hello", 5) == 0;
        const bool run = std::strncmp(line, "run", 3) == 0;
        if (hello) std::puts("ready 1");
        if (run && how == "chatter") std::puts("parsing file 1");
        if (run && how == "miscount") std::puts("done 7");
        if (run && how == "hang") ::sleep(100);
        if (run && how == "crash") std::abort();
        if (run && how == "leave") return 0;
        if (run && how == "flood") {
            for (;;) std::puts("{\"metric\": \"x\", \"value\": 1}");
        }
        if (run && how == "nonsense") std::puts("{\"metric\": \"x\"}");
        if (run) std::puts("done 1");
        std::fflush(stdout);
    }
    return how == "bad-end" ? 3 : 0;
}

}  // namespace

// steady-lockstep-program STEPS [greedy | throw | HOW]
int main(int argc, char** argv) {
    const long steps = argc > 1 ? std::atol(argv[1]) : 1000;
    const std::string how = argc > 2 ? argv[2] : "";
    // Many threads, so that they get their share on a loaded machine as well.
    for (int i = 0; how == "greedy" && i < 16; ++i) {
        std::thread([] {
            for (;;) burn(1000000);
        }).detach();
    }
    if (!how.empty() && how != "greedy" && how != "throw") return misbehave(how);
    return steady::lockstep([&](long n, steady::Results& out) {
        if (how == "throw") throw std::runtime_error("the disk is full");
        std::puts("a line of the program's own");
        const double before = cpu_ns();
        for (long i = 0; i < n; ++i) burn(steps);
        out.add("cpu_ns", (cpu_ns() - before) / static_cast<double>(n), "ns", "lower");
        out.add("steps", static_cast<double>(steps * n), "steps", "lower");
    });
}
