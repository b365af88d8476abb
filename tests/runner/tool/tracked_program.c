// The program of tracked_fixture.py: a loop of STEPS steps, timed by its own CPU time; it prints the
// best of sixty turns. A change of STEPS is a planted change of speed.
#include <stdio.h>
#include <time.h>

#ifndef STEPS
#define STEPS 100000L
#endif

static volatile unsigned long sum;

static long long cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
    long long best = -1;
    for (int turn = 0; turn < 60; ++turn) {
        const long long begin = cpu_ns();
        unsigned long x = 88172645463325252UL;
        for (long i = 0; i < STEPS; ++i) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        sum = x;
        const long long took = cpu_ns() - begin;
        if (best < 0 || took < best) best = took;
    }
    printf("{\"metric\": \"work_ns\", \"value\": %lld, \"unit\": \"ns\", \"direction\": \"lower\"}\n",
           best);
    return 0;
}
