// Each word of a template becomes one regular expression: its literal parts escaped, its
// placeholders replaced by the arguments' patterns.
#include "runner/programs/registry/command_template.h"

#include <fmt/format.h>

#include <regex>

#include "runner/base/json_reader.h"

namespace steady {
namespace {

constexpr std::size_t kMaxMatched = 1000;  // std::regex recurses once per character

// A word in its parts: literal text and, at odd places, names of placeholders.
std::vector<std::string> parts_of(const std::string& word) {
    static const std::regex placeholder(R"(\{(?!(?:src|model)\})([a-z][a-z0-9_]*)(\.\.\.)?\})");
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (std::sregex_iterator it(word.begin(), word.end(), placeholder), end; it != end; ++it) {
        parts.push_back(word.substr(at, static_cast<std::size_t>(it->position()) - at));
        parts.push_back((*it)[1]);
        at = static_cast<std::size_t>(it->position() + it->length());
    }
    parts.push_back(word.substr(at));
    return parts;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (std::string_view("\\^$.|?*+()[]{}/").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string expression_of(const std::string& word,
                          const std::map<std::string, ArgumentRule>& arguments) {
    const std::vector<std::string> parts = parts_of(word);
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        out += i % 2 == 0 ? escaped(parts[i]) : "(?:" + arguments.at(parts[i]).pattern + ")";
    }
    return out;
}

}  // namespace

bool matches_whole(const std::string& pattern, const std::string& text) {
    return text.size() <= kMaxMatched && std::regex_match(text, std::regex(pattern));
}

bool stands_for_many(const std::string& word) {
    const std::vector<std::string> parts = parts_of(word);
    return parts.size() == 3 && parts[0].empty() && parts[2].empty() && word.ends_with("...}");
}

std::vector<std::string> placeholders(const std::string& word) {
    const std::vector<std::string> parts = parts_of(word);
    std::vector<std::string> names;
    for (std::size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
    return names;
}

std::string template_mismatch(const std::vector<std::string>& pattern,
                              const std::map<std::string, ArgumentRule>& arguments,
                              const std::vector<std::string>& command) {
    const bool open = !pattern.empty() && stands_for_many(pattern.back());
    const std::size_t fixed = pattern.size() - (open ? 1 : 0);
    if (open ? command.size() < fixed : command.size() != fixed) {
        return fmt::format("{} words, {}{} expected", command.size(), open ? "at least " : "",
                           fixed);
    }
    for (std::size_t i = 0; i < command.size(); ++i) {
        const std::string& word = pattern[std::min(i, pattern.size() - 1)];
        if (matches_whole(expression_of(word, arguments), command[i])) continue;
        return fmt::format("word {} is {}, expected {}", i + 1, shown_text(command[i]),
                           placeholders(word).empty()
                               ? word
                               : fmt::format("{} with text that matches {}", word,
                                             expression_of(word, arguments)));
    }
    return {};
}

std::vector<std::string> fill_template(const std::vector<std::string>& pattern,
                                       const std::map<std::string, ArgumentRule>& arguments) {
    std::vector<std::string> out;
    for (const std::string& word : pattern) {
        const std::vector<std::string> parts = parts_of(word);
        std::string filled;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            filled += i % 2 == 0 ? parts[i] : arguments.at(parts[i]).example;
        }
        out.push_back(filled);
    }
    return out;
}

}  // namespace steady
