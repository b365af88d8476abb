// What happens to text written by people and programs before it reaches a terminal, a log, a
// Markdown page or an SVG: one function per destination, and one that takes secrets out. Also the
// distance behind "did you mean".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

// Offset of the first byte that is not well-formed UTF-8 (overlong forms and surrogates included).
std::optional<std::size_t> first_invalid_utf8(std::string_view text);
void append_utf8(std::string& out, unsigned code);
std::size_t count_characters(std::string_view utf8);

// At most n characters; what is cut is replaced by "…".
std::string shorten(std::string_view utf8, std::size_t n);

// One line, safe on a terminal: control characters (ESC, newline, bidirectional overrides …) appear
// as \n, \x1b, \u202e; bytes that are no UTF-8 as \xNN.
std::string escape_line(std::string_view text);

// A JSON string literal with its quotes; everything but quotes, backslash and controls stays as is.
std::string json_quoted(std::string_view text);

// Text of people inside Markdown: nothing in it can open a link, HTML, code, a table cell or a
// heading. One line; control characters escaped.
std::string escape_markdown(std::string_view text);

// Inside Markdown as `code`, with a fence longer than any run of backquotes in it.
std::string markdown_code(std::string_view text);

// Token-, key- and password-shaped text and the user part of URLs become "[redacted]".
std::string redact(std::string_view text);

// Both, for text of others that is stored or shown as one line.
std::string safe_line(std::string_view text);

// Optimal string alignment: insert, delete, replace, swap neighbours. Case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The closest choice when it is close enough to be a typing mistake, else empty.
std::string closest(std::string_view word, const std::vector<std::string>& choices);

}  // namespace steady
