// Steady's lockstep protocol for a C++ program, version 1: one header, C++11, POSIX, nothing else.
//
//     #include "steady_lockstep.h"
//     int main() {
//         auto data = load();                                     // once, before the first turn
//         return steady::lockstep([&](long n, steady::Results& out) {
//             for (long i = 0; i < n; ++i) parse(data);           // the work, n times
//             out.add("score", 17, "", "higher");  // optional: wall time is measured
//         });
//     }
//
// What the program prints to stdout goes to stderr: stdout belongs to the protocol.
#ifndef STEADY_LOCKSTEP_H
#define STEADY_LOCKSTEP_H

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace steady {

class Results {
public:
    // unit and direction ("lower", "higher") may be empty. Names are of a-z 0-9 _ and dots.
    void add(const std::string& metric, double value, const std::string& unit = "",
             const std::string& direction = "") {
        char number[40];
        std::snprintf(number, sizeof number, "%.17g", value);
        text_ += "{\"metric\": \"" + metric + "\", \"value\": " + number;
        if (!unit.empty()) text_ += ", \"unit\": \"" + unit + "\"";
        if (!direction.empty()) text_ += ", \"direction\": \"" + direction + "\"";
        text_ += "}\n";
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// Serves turns until quit or the end of stdin. Returns what main should return.
template <class Work>
int lockstep(Work work) {
    std::fflush(stdout);
    const int replies = dup(1);
    if (replies < 0 || dup2(2, 1) < 0) return 1;
    const auto say = [replies](const std::string& text) {
        for (std::size_t sent = 0; sent < text.size();) {
            const ssize_t n = write(replies, text.data() + sent, text.size() - sent);
            if (n <= 0) std::exit(1);
            sent += static_cast<std::size_t>(n);
        }
    };
    char line[256];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        long n = 0;
        if (std::sscanf(line, "run %ld", &n) == 1 && n > 0) {
            Results results;
            try {
                work(n, results);
            } catch (const std::exception& failure) {
                std::string text = failure.what();
                for (char& c : text)
                    if (c == '\n' || c == '\r') c = ' ';  // a reply is one line
                say("error " + text + "\n");
                continue;
            }
            std::fflush(stdout);
            say(results.text() + "done " + std::to_string(n) + "\n");
        } else if (std::string(line) == "hello 1\n") {
            say("ready 1\n");
        } else if (std::string(line) == "quit\n") {
            return 0;
        } else {
            say("error this program speaks version 1 of the protocol: hello 1, run N, quit\n");
        }
    }
    return 0;
}

}  // namespace steady

#endif
