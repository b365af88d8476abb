// Loaded before the C library by GCC while it builds this project: asks for huge pages where GCC
// asks for a megabyte or more. It fills hundreds of them, and each small page costs time twice:
// when it is first used, and whenever the processor looks up where it lies.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" void* mmap(void* wanted, size_t bytes, int rights, int flags, int file, off_t offset) {
    const long at = syscall(SYS_mmap, wanted, bytes, rights, flags, file, offset);
    void* memory = reinterpret_cast<void*>(at);
    if (memory != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && bytes >= 1 << 20) {
        madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return memory;
}
