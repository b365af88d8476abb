// The trap flag of the CPU makes Linux send SIGTRAP after each instruction.
#include "kernels/tool/stepped.h"

#include <link.h>
#include <signal.h>
#include <ucontext.h>

#include <vector>

#include "kernels/base/error.h"
#include "kernels/tool/program.h"

namespace steady::tool {
namespace {

// What the signal handler writes; one call at a time.
struct Counts {
    std::uint64_t first = 0;  // loaded address
    std::vector<std::uint32_t> of;
};
Counts g_counts;

void count_one(int /*signal*/, siginfo_t* /*info*/, void* context) {
    const auto* registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    const std::uint64_t at = static_cast<std::uint64_t>(registers[REG_RIP]) - g_counts.first;
    if (at < g_counts.of.size()) ++g_counts.of[at];
}

int note_code(dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        g_counts.first = info->dlpi_addr + part.p_vaddr;
        g_counts.of.assign(part.p_memsz, 0);
    }
    return 1;  // the first object is the program itself
}

// The red zone below the stack pointer belongs to the function that this is inlined into.
inline void trap_on() {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
        "leaq 128(%%rsp), %%rsp" ::
            : "cc", "memory");
}
inline void trap_off() {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
        "leaq 128(%%rsp), %%rsp" ::
            : "cc", "memory");
}

}  // namespace

std::map<std::uint64_t, std::int64_t> count_instructions(const std::function<void()>& call) {
    dl_iterate_phdr(note_code, nullptr);
    struct sigaction counting {};
    struct sigaction before {};
    counting.sa_sigaction = count_one;
    counting.sa_flags = SA_SIGINFO;
    sigemptyset(&counting.sa_mask);
    if (sigaction(SIGTRAP, &counting, &before) != 0) {
        throw Error{"cannot receive SIGTRAP, by which instructions are counted", kExitInternal};
    }
    trap_on();
    call();
    trap_off();
    sigaction(SIGTRAP, &before, nullptr);
    std::map<std::uint64_t, std::int64_t> counts;
    const std::uint64_t file_first = g_counts.first - load_offset();
    for (std::size_t i = 0; i < g_counts.of.size(); ++i) {
        if (g_counts.of[i] > 0) counts[file_first + i] = g_counts.of[i];
    }
    g_counts.of.clear();
    return counts;
}

}  // namespace steady::tool
