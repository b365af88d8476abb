// Starts NAME.elf, which lies beside this program, with the loader and libraries of the bundle, so
// that nothing of the host's C library is needed. Linked statically. `runner/bundle/make` appends the
// SHA-256 of NAME.elf to each copy: the hash of a copy then tells which program it starts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char loader_name[] = "/lib/ld-linux-x86-64.so.2";
enum { room = 4096 };

int main(int argc, char** argv) {
    static char self[room], root[room], loader[room + 64], library[room + 64], user[room + 64],
        program[room + 64];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        fputs("steady: cannot read /proc/self/exe; mount /proc\n", stderr);
        return 127;
    }
    strcpy(root, self);
    do {  // upwards until the bundle's loader is found
        char* slash = strrchr(root, '/');
        if (slash == NULL) {
            fprintf(stderr, "steady: no %s above %s; unpack the whole bundle\n", loader_name, self);
            return 127;
        }
        *slash = '\0';
        snprintf(loader, sizeof loader, "%s%s", root, loader_name);
    } while (access(loader, X_OK) != 0);
    snprintf(library, sizeof library, "%s/lib", root);
    snprintf(user, sizeof user, "%s/lib/steady-user.so", root);
    snprintf(program, sizeof program, "%s.elf", self);

    char** words = calloc((size_t)argc + 8, sizeof *words);
    if (words == NULL) return 127;
    int i = 0;
    words[i++] = self;  // who we are, for programs that ask; see kernels/base/self_path.h
    words[i++] = "--library-path";
    words[i++] = library;
    const char* name = strrchr(self, '/') + 1;
    if (strcmp(name, "initdb") == 0 || strcmp(name, "postgres") == 0) {
        words[i++] = "--preload";
        words[i++] = user;
    }
    words[i++] = program;
    for (int k = 1; k < argc; ++k) words[i++] = argv[k];
    execv(loader, words);
    perror(loader);
    return 127;
}
