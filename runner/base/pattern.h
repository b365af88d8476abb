// Regular expressions by PCRE2, which neither recurses on long texts nor costs seconds of compile
// time in each file. Bytes, not characters; a pattern that takes too long ends in an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

class Pattern {
public:
    // Throws Error with the place in the pattern.
    explicit Pattern(const std::string& text);

    // Both: the whole text. Groups stand at their number, the whole match at 0; a group that took
    // no part is empty.
    bool matches(std::string_view text) const { return match(text).has_value(); }
    std::optional<std::vector<std::string>> match(std::string_view text) const;

    struct Found {
        std::size_t begin = 0, end = 0;
        std::vector<std::string> groups;
    };
    // The first match at or after `from`.
    std::optional<Found> search(std::string_view text, std::size_t from = 0) const;

    // Every match replaced; $1 … $9 in `by` stand for groups.
    std::string replaced(std::string_view text, std::string_view by) const;

    // Names of groups and their numbers.
    const std::vector<std::pair<std::string, std::size_t>>& named_groups() const { return names_; }

private:
    std::optional<Found> find(std::string_view text, std::size_t from, bool whole) const;

    std::string text_;
    std::shared_ptr<void> code_;  // pcre2_code
    std::vector<std::pair<std::string, std::size_t>> names_;
};

}  // namespace steady
