// The program of outside_figures.py: counted work, so that what is planted is known.
//   outside_program WORK [LOG]        works once; LOG gets when main began and ended, ns
//   outside_program WORK lockstep     the same work per turn, by the protocol of runner/programs/lockstep
//   outside_program load SEED         random bursts on one CPU, until it is killed
//   outside_program start RUNS ARGV…  the shortest loop that starts a program: fork, exec, wait
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile unsigned long sum;

static void work(long steps) {
    unsigned long x = 88172645463325252UL;
    for (long i = 0; i < steps; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sum = x;
}

static int lockstep(long steps) {
    char line[256];
    long n;
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "hello", 5)) puts("ready 1");
        if (!strncmp(line, "quit", 4)) break;
        if (sscanf(line, "run %ld", &n) == 1) {
            for (long i = 0; i < n; ++i) work(steps);
            printf("done %ld\n", n);
        }
        fflush(stdout);
    }
    return 0;
}

static int load(unsigned seed) {
    srand(seed);
    for (;;) {
        const long long until = now_ns() + (20 + rand() % 300) * 1000000LL;
        while (now_ns() < until) work(100000);
        usleep((unsigned)(20 + rand() % 300) * 1000);
    }
}

static int start(long runs, char** argv) {
    for (long i = 0; i < runs; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            execv(argv[0], argv);
            _exit(127);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    const long long begin = now_ns();
    if (argc == 3 && !strcmp(argv[1], "load")) return load((unsigned)atol(argv[2]));
    if (argc > 3 && !strcmp(argv[1], "start")) return start(atol(argv[2]), argv + 3);
    const long steps = argc > 1 ? atol(argv[1]) : 1000;
    if (argc == 3 && !strcmp(argv[2], "lockstep")) return lockstep(steps);
    work(steps);
    if (argc == 3) {
        FILE* log = fopen(argv[2], "a");
        if (!log) return 1;
        fprintf(log, "%lld %lld\n", begin, now_ns());
        fclose(log);
    }
    return 0;
}
