// The one translation unit that knows PCRE2's interface of this box.
#include "runner/base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "kernels/base/error.h"
#include "runner/base/text.h"

namespace steady {
namespace {

constexpr std::uint32_t kMostSteps = 1'000'000;  // of a match that goes back and forth

const std::uint8_t* bytes_of(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

std::string message_of(int error) {
    std::array<PCRE2_UCHAR, 200> buffer{};
    pcre2_get_error_message(error, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

std::vector<std::pair<std::string, std::size_t>> names_of(const pcre2_code* code) {
    std::uint32_t n = 0, width = 0;
    const std::uint8_t* table = nullptr;
    pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &n);
    pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &width);
    pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &table);
    std::vector<std::pair<std::string, std::size_t>> names;
    for (std::uint32_t i = 0; i < n; ++i, table += width) {
        const std::size_t group = static_cast<std::size_t>(table[0]) * 256 + table[1];
        names.emplace_back(reinterpret_cast<const char*>(table + 2), group);
    }
    return names;
}

}  // namespace

Pattern::Pattern(const std::string& text) : text_(text) {
    int error = 0;
    std::size_t at = 0;
    pcre2_code* code =
        pcre2_compile(bytes_of(text), text.size(), PCRE2_DOLLAR_ENDONLY, &error, &at, nullptr);
    if (code == nullptr) {
        throw Error(fmt::format("the pattern \"{}\" is no regular expression: {} at character {}",
                                escape_line(shorten(text, 80)), message_of(error), at + 1));
    }
    code_ = std::shared_ptr<void>(
        code, [](void* value) { pcre2_code_free(static_cast<pcre2_code*>(value)); });
    names_ = names_of(code);
}

std::optional<Pattern::Found> Pattern::find(std::string_view text, std::size_t from,
                                            bool whole) const {
    const auto* code = static_cast<const pcre2_code*>(code_.get());
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    const std::unique_ptr<pcre2_match_context, void (*)(pcre2_match_context*)> context(
        pcre2_match_context_create(nullptr), pcre2_match_context_free);
    pcre2_set_match_limit(context.get(), kMostSteps);
    const std::uint32_t options = whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0U;
    const int n =
        pcre2_match(code, bytes_of(text), text.size(), from, options, data.get(), context.get());
    if (n == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (n < 0) {
        throw Error(fmt::format("the pattern \"{}\" cannot be matched: {}",
                                escape_line(shorten(text_, 80)), message_of(n)));
    }
    const std::size_t* range = pcre2_get_ovector_pointer(data.get());
    Found found{range[0], range[1], {}};
    for (std::uint32_t i = 0; i < pcre2_get_ovector_count(data.get()); ++i) {
        const bool there = i < static_cast<std::uint32_t>(n) && range[2 * i] != PCRE2_UNSET;
        found.groups.emplace_back(there ? text.substr(range[2 * i], range[2 * i + 1] - range[2 * i])
                                        : "");
    }
    return found;
}

std::optional<std::vector<std::string>> Pattern::match(std::string_view text) const {
    auto found = find(text, 0, true);
    if (!found) return std::nullopt;
    return std::move(found->groups);
}

std::optional<Pattern::Found> Pattern::search(std::string_view text, std::size_t from) const {
    if (from > text.size()) return std::nullopt;
    return find(text, from, false);
}

namespace {

// `by` with $1 … $9 replaced.
std::string filled(std::string_view by, const std::vector<std::string>& groups) {
    std::string out;
    for (std::size_t i = 0; i < by.size(); ++i) {
        const bool digit = by[i] == '$' && i + 1 < by.size() && by[i + 1] > '0' && by[i + 1] <= '9';
        const std::size_t group = digit ? static_cast<std::size_t>(by[i + 1] - '0') : 0;
        if (digit && group < groups.size()) {
            out += groups[group];
            ++i;
        } else {
            out += by[i];
        }
    }
    return out;
}

}  // namespace

std::string Pattern::replaced(std::string_view text, std::string_view by) const {
    std::string out;
    std::size_t done = 0, from = 0;
    for (auto found = search(text); found; found = search(text, from)) {
        out += text.substr(done, found->begin - done);
        out += filled(by, found->groups);
        done = found->end;
        from = std::max(found->end, found->begin + 1);  // an empty match must not repeat
        if (from > text.size()) break;
    }
    return out + std::string(text.substr(done));
}

}  // namespace steady
