// blank FILE: overwrites with zeros the PTX text that nvcc keeps beside its machine code for source lines, which
// is half of it and is read by nobody where the bundle runs. The file keeps its size, the archive does not.
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CUDA = 190 };  // e_machine

// One ELF file within the program; n bytes are left from its first one on.
static void blank(unsigned char* image, size_t n) {
    const Elf64_Ehdr* head = (const Elf64_Ehdr*)image;
    if (n < sizeof *head || head->e_machine != CUDA || head->e_shentsize != sizeof(Elf64_Shdr) ||
        head->e_shoff > n || (n - head->e_shoff) / sizeof(Elf64_Shdr) < head->e_shnum ||
        head->e_shstrndx >= head->e_shnum) {
        return;
    }
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(image + head->e_shoff);
    const Elf64_Shdr* names = &sections[head->e_shstrndx];
    for (int i = 0; i < head->e_shnum; ++i) {
        const Elf64_Shdr* one = &sections[i];
        static const char text[] = ".nv_debug_ptx_txt";
        const uint64_t name = names->sh_offset + one->sh_name;
        if (name + sizeof text > n || memcmp(image + name, text, sizeof text) != 0) continue;
        if (one->sh_offset > n || one->sh_size > n - one->sh_offset) continue;
        memset(image + one->sh_offset, 0, one->sh_size);
    }
}

int main(int argc, char** argv) {
    const int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) return perror("blank"), 1;
    const size_t n = (size_t)info.st_size;
    unsigned char* bytes = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) return perror("blank"), 1;
    for (size_t at = 8; at + SELFMAG <= n; at += 8) {  // at 0 the program's own
        if (memcmp(bytes + at, ELFMAG, SELFMAG) == 0) blank(bytes + at, n - at);
    }
    return munmap(bytes, n) == 0 && close(file) == 0 ? 0 : 1;
}
