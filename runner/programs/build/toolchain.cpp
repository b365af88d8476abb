// Versions instead of hashes where there is a way to ask: a compiler is a small driver in front of
// many files, and people read the answer.
#include "runner/programs/build/toolchain.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "runner/platform/tools.h"

namespace steady {
namespace {

struct Known {
    std::vector<const char*> ask;    // arguments that print the version
    std::vector<const char*> calls;  // further tools behind it
};

const std::map<std::string, Known>& known_tools() {
    static const std::map<std::string, Known> known = {
        {"cargo", {{"--version"}, {"rustc"}}},
        {"rustc", {{"--version"}, {}}},
        {"go", {{"version"}, {}}},
        {"cmake", {{"--version"}, {"ninja", "make"}}},
        {"ninja", {{"--version"}, {}}},
        {"make", {{"--version"}, {}}},
        {"meson", {{"--version"}, {"ninja"}}},
        {"cc", {{"--version"}, {}}},
        {"c++", {{"--version"}, {}}},
        {"gcc", {{"--version"}, {}}},
        {"g++", {{"--version"}, {}}},
        {"clang", {{"--version"}, {}}},
        {"clang++", {{"--version"}, {}}},
        {"nvcc", {{"--version"}, {}}},
        {"zig", {{"version"}, {}}},
        {"python3", {{"--version"}, {}}},
        {"node", {{"--version"}, {}}},
        {"npm", {{"--version"}, {"node"}}},
    };
    return known;
}

std::string describe_tool(const std::string& path, const Known* known) {
    if (known == nullptr) return path + " sha256 " + cached_sha256_hex(path);
    ChildOptions options;
    options.argv = {path};
    options.argv.insert(options.argv.end(), known->ask.begin(), known->ask.end());
    // A launcher (rustup) finds its tools through the home directory.
    if (const char* home = std::getenv("HOME")) options.env["HOME"] = home;
    const ChildEnd end = run_child(options, 30);
    return path + " " + end.out.substr(0, end.out.find('\n'));
}

void add_tool(const std::string& name, std::map<std::string, std::string>& tools) {
    if (tools.contains(name)) return;
    const auto path = find_tool(name);
    if (!path) return;
    const auto known = known_tools().find(std::filesystem::path(name).filename().string());
    const bool is_known = known != known_tools().end();
    tools[name] = describe_tool(*path, is_known ? &known->second : nullptr);
    if (!is_known) return;
    for (const char* next : known->second.calls) add_tool(next, tools);
}

}  // namespace

std::map<std::string, std::string> toolchain(const std::vector<std::vector<std::string>>& commands,
                                             const std::map<std::string, std::string>& env) {
    const auto value = [&](const char* name, const char* otherwise) {
        const auto found = env.find(name);
        return found == env.end() || found->second.empty() ? std::string(otherwise) : found->second;
    };
    std::set<std::string> names{value("CC", "cc"), value("CXX", "c++")};
    for (const auto& command : commands) {
        const std::string& first = command.empty() ? std::string{} : command.front();
        if (first.find('/') == std::string::npos || first[0] == '/') names.insert(first);
    }
    std::map<std::string, std::string> tools;
    for (const std::string& name : names) add_tool(name, tools);
    return tools;
}

}  // namespace steady
