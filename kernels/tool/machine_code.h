// Instructions as text, by kind, and what llvm-mca says of a piece of straight code.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steady::tool {

// The text of each of this program's instructions in [first, last], by file address.
std::map<std::uint64_t, std::string> instructions_between(std::uint64_t first, std::uint64_t last);

// "dot", "shuffle", "logic", "float", "load", "prefetch" or "other".
std::string kind_of(const std::string& instruction);

// llvm-mca as found on the path, the newest version first, with a model of this CPU.
class StaticModel {
public:
    StaticModel();
    bool known() const { return why_not_.empty(); }
    const std::string& why_not() const { return why_not_; }
    std::string name() const { return program_ + " -mcpu=" + cpu_; }
    // Cycles that one pass of a loop over the instructions takes, caches hit; nothing when the
    // model does not know one of them.
    std::optional<double> cycles(const std::vector<std::string>& instructions) const;

private:
    std::string program_, cpu_, why_not_;
};

}  // namespace steady::tool
