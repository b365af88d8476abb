// What a build's result depends on besides its source and its commands: the compilers and build
// tools that the machine has.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace steady {

// Tool → path and first line of its version (for tools without a known way to ask: the file's
// hash). cc and c++ (or CC, CXX of the environment) always count; each command's first word; and
// what it is known to call (cargo: rustc). Programs inside the source tree belong to the source.
std::map<std::string, std::string> toolchain(const std::vector<std::vector<std::string>>& commands,
                                             const std::map<std::string, std::string>& env);

}  // namespace steady
