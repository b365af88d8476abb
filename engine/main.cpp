// steady-engine: inspects, makes, runs and measures models; `steady-engine --help` lists the verbs.
#include <unistd.h>

#include <csignal>

#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"

extern "C" void on_interrupt(int) { _exit(steady::kExitInterrupted); }

int main(int argc, char** argv) {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    try {
        return steady::run_command({argv + 1, argv + argc});
    } catch (...) {
        return steady::report_error();
    }
}
