// What a command of the shell prints.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace steady {

struct ShellOutput {
    std::string text;  // of its stdout
    int code = 0;      // its exit code
};

inline ShellOutput shell_output(const std::string& command) {
    FILE* pipe = ::popen(command.c_str(), "r");
    ShellOutput out;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        out.text += static_cast<char>(c);
    }
    const int status = ::pclose(pipe);
    out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return out;
}

}  // namespace steady
