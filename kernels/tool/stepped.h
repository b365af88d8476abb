// Executes a call instruction by instruction and counts how often each instruction of this program
// ran: exact where a listing shows only what might run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace steady::tool {

// File addresses of the program's own instructions → how often the call executed them. The CPU
// traps after every instruction, so keep the call below some million of them.
std::map<std::uint64_t, std::int64_t> count_instructions(const std::function<void()>& call);

}  // namespace steady::tool
