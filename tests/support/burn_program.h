// A tiny C program that burns CPU in proportion to what it is told, and misbehaves on demand: the
// fixture of every test that judges a program which is no part of this project.
#pragma once

#include <fmt/format.h>

#include <string>

namespace steady {

// usage: burn UNITS [crash|hang|bomb|flood|fail|other]
// bomb: 128 processes that wait, every other one in a session of its own.
// `units` is what one unit costs; a revision that multiplies it is slower by as much. A chain of
// multiplications takes the same time in every process; on Zen 5 a sum in memory varied by 5 %.
inline std::string burn_source(int units_per_mille = 1000, const std::string& says = "done") {
    return fmt::format(R"(#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {{
    const char* mode = argc > 2 ? argv[2] : "";
    if (!strcmp(mode, "crash")) abort();
    if (!strcmp(mode, "fail")) {{ fputs("no input\n", stderr); return 3; }}
    if (!strcmp(mode, "hang")) {{ if (fork() == 0) setsid(); for (;;) pause(); }}
    if (!strcmp(mode, "bomb")) {{
        for (int i = 0; i < 7; ++i) if (fork() == 0 && i % 2) setsid();
        for (;;) pause();
    }}
    if (!strcmp(mode, "flood")) for (;;) puts("flood flood flood flood flood flood flood flood");
    const long units = argc > 1 ? atol(argv[1]) : 1000;
    unsigned long sum = 0;
    for (long i = 0; i < units * {0} * 12L; ++i) sum = sum * 6364136223846793005UL + (unsigned long)i;
    volatile unsigned long kept = sum;
    (void)kept;
    puts(!strcmp(mode, "other") ? "something else" : "{1}");
    printf("units: %ld\n", units > 0 ? 1L : 0L);
    return 0;
}}
)",
                       units_per_mille, says);
}

}  // namespace steady
