// Finds special tokens in a text. Longer tokens win over shorter ones wherever they stand, and
// equal ones are taken from left to right; that is how the reference tokeniser cuts its text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace steady {

struct SpecialMatch {
    std::size_t begin, length;
    std::int32_t token;
};

class SpecialTokens {
public:
    void add(std::string_view text, std::int32_t token, bool control);
    // Matches in order of position, none overlapping. Without controls only user-defined tokens
    // are found.
    std::vector<SpecialMatch> find(std::string_view text, bool controls) const;

private:
    struct Entry {
        std::int32_t token;
        bool control;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;  // looked up by view, without a copy
    };
    std::unordered_map<std::string, Entry, Hash, std::equal_to<>> tokens_;
    std::vector<std::size_t> lengths_[256];  // of the tokens that begin with a byte, longest first
};

}  // namespace steady
