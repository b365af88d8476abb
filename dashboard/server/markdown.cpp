// Markdown to HTML by cmark in safe mode, with pipe tables and front matter added around it.
#include "dashboard/server/markdown.h"

#include <cmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "dashboard/server/http.h"
#include "runner/base/text.h"
#include "runner/figures/numbers.h"

namespace steady::web {
namespace {

constexpr std::size_t npos = std::string_view::npos;

std::string cmark_html(const std::string& text) {
    const std::unique_ptr<char, void (*)(void*)> html(
        cmark_markdown_to_html(text.data(), text.size(),
                               CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8),
        std::free);
    return html ? std::string(html.get()) : std::string();
}

bool is_ascii_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits and punctuation that Markdown gives no meaning where they stand. The renderer
// decides on everything else.
bool is_plain(std::string_view text) {
    if (text.empty()) return true;
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits != npos && (text[digits] == '.' || text[digits] == ')') &&
        (digits + 1 == text.size() || text[digits + 1] == ' ')) {
        return false;  // "1. " begins a list
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const char after = i + 1 < text.size() ? text[i + 1] : ' ';
        const bool allowed =
            is_ascii_word(c) || static_cast<unsigned char>(c) >= 0x80 ||
            std::string_view(" .,%/;([").find(c) != npos ||
            (i > 0 && std::string_view("+-)~").find(c) != npos) || (c == '+' && after != ' ') ||
            (c == '~' && after != '~') || (c == ']' && after != '(') ||
            (c == '_' && i > 0 && is_ascii_word(text[i - 1]) && is_ascii_word(after));
        if (!allowed) return false;
    }
    return text.front() != ' ' && text.back() != ' ' && !first_invalid_utf8(text);
}

// A cell's text without the paragraph that the renderer puts around it. An entry has hundreds of
// cells, and to set up a parser for each took most of the time of its page.
std::string inline_html(const std::string& text) {
    if (is_plain(text)) return text;
    if (text.size() > 2 && text.front() == '`' && text.back() == '`') {
        const std::string inside = text.substr(1, text.size() - 2);
        if (is_plain(inside)) return "<code>" + inside + "</code>";
    }
    std::string html = cmark_html(text);
    while (!html.empty() && html.back() == '\n') html.pop_back();
    if (html.starts_with("<p>") && html.ends_with("</p>") &&
        html.find("<p>", 3) == std::string::npos) {
        return html.substr(3, html.size() - 7);
    }
    return escape_html(text);  // a cell that opens a block (a list, a heading): shown as text
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string line(text.substr(0, end));
        if (!line.empty() && line.back() == '\r') line.pop_back();
        lines.push_back(std::move(line));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

// "| a | b \| c |" → {"a", "b | c"}
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
            cell.push_back('|');
            ++i;
        } else if (line[i] == '|') {
            cells.push_back(std::move(cell));
            cell.clear();
        } else {
            cell.push_back(line[i]);
        }
    }
    cells.push_back(std::move(cell));
    for (std::string& one : cells) {
        const std::size_t begin = one.find_first_not_of(' ');
        one = begin == std::string::npos ? ""
                                         : one.substr(begin, one.find_last_not_of(' ') + 1 - begin);
    }
    if (!cells.empty() && cells.front().empty()) cells.erase(cells.begin());
    if (!cells.empty() && cells.back().empty()) cells.pop_back();
    return cells;
}

bool is_rule(const std::string& line) {
    return line.find('|') != std::string::npos && line.find('-') != std::string::npos &&
           line.find_first_not_of(" |-:") == std::string::npos;
}

bool is_right(const std::string& rule_cell) { return rule_cell.ends_with(":"); }

std::string table_row(const std::string& line, const std::vector<std::string>& rule,
                      const char* tag) {
    std::string html = "<tr>";
    const std::vector<std::string> cells = cells_of(line);
    for (std::size_t i = 0; i < cells.size() && i < rule.size(); ++i) {
        const char* side = is_right(rule[i]) ? " class=\"number\"" : "";
        html += std::string("<") + tag + side + ">" + inline_html(cells[i]) + "</" + tag + ">";
    }
    return html + "</tr>\n";
}

// Consumes the table that begins at lines[i]; i ends behind it.
std::string table_html(const std::vector<std::string>& lines, std::size_t& i) {
    const std::vector<std::string> rule = cells_of(lines[i + 1]);
    std::string html = "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>" +
                       table_row(lines[i], rule, "th") + "</thead>\n<tbody>\n";
    for (i += 2; i < lines.size() && lines[i].find('|') != std::string::npos; ++i) {
        html += table_row(lines[i], rule, "td");
    }
    return html + "</tbody></table></div>\n";
}

// A number of the front matter as the page writes such a number.
std::string worded(const std::string& key, const nlohmann::json& value) {
    if (!value.is_number()) return "";
    const double number = value.get<double>();
    if (key == "effect" || key == "interval") {
        const int decimals = std::fabs(number) < 0.001 ? 2 : 1;
        return figures::percent(number, decimals);
    }
    if (value.is_number_integer()) return value.dump();
    return fmt::format("{:.3g}", number);
}

// A YAML scalar or list as a person reads it; "" for null.
std::string plain(const std::string& key, std::string_view yaml) {
    while (yaml.starts_with(' ')) yaml.remove_prefix(1);
    const auto value = nlohmann::json::parse(yaml, nullptr, false);
    if (value.is_discarded()) return std::string(yaml);
    if (value.is_null()) return {};
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array()) {
        std::string out;
        for (const auto& one : value) {
            const std::string word = one.is_string() ? one.get<std::string>()
                                     : one.is_null() ? "–"
                                                     : worded(key, one);
            out += (out.empty() ? "" : key == "interval" ? " to " : ", ") + word;
        }
        return out;
    }
    const std::string number = worded(key, value);
    return number.empty() ? std::string(yaml) : number;
}

// What a key of the front matter means.
std::string label_of(std::string key) {
    if (key == "read_gb_per_s") return "memory read speed, GB/s";
    if (key == "interval") return "95 % interval";
    if (key == "cpu") return "CPU";
    std::replace(key.begin(), key.end(), '_', ' ');
    return key;
}

// "<code>4d90a19da1fe…</code>", the whole hash on hover; other text as it is.
std::string value_html(const std::string& value) {
    const bool hash =
        value.size() >= 40 && value.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!hash) return escape_html(value);
    return "<code title=\"" + value + "\">" + value.substr(0, 12) + "…</code>";
}

// Folded: an entry's first table says the same in words.
std::string front_matter(const std::vector<std::string>& lines, std::size_t& i) {
    if (lines.empty() || lines[0] != "---") return {};
    std::size_t end = 1;
    while (end < lines.size() && lines[end] != "---") ++end;
    if (end == lines.size()) return {};
    std::string html = "<details><summary>front matter</summary><dl class=\"facts\">\n";
    for (std::size_t k = 1; k < end; ++k) {
        const std::size_t colon = lines[k].find(':');
        if (colon == std::string::npos) continue;
        const std::string key = lines[k].substr(0, colon);
        const std::string value = plain(key, std::string_view(lines[k]).substr(colon + 1));
        if (value.empty()) continue;
        html += "<div><dt>" + escape_html(label_of(key)) + "</dt><dd>" + value_html(value) +
                "</dd></div>\n";
    }
    i = end + 1;
    return html + "</dl></details>\n";
}

}  // namespace

std::string render_markdown(std::string_view text) {
    const std::vector<std::string> lines = lines_of(text);
    std::size_t i = 0;
    std::string html = front_matter(lines, i);
    std::string plain;
    bool fenced = false;
    while (i < lines.size()) {
        if (lines[i].starts_with("```") || lines[i].starts_with("~~~")) fenced = !fenced;
        const bool table = !fenced && i + 1 < lines.size() && is_rule(lines[i + 1]) &&
                           lines[i].find('|') != std::string::npos;
        if (table) {
            html += cmark_html(plain);
            plain.clear();
            html += table_html(lines, i);
        } else {
            plain += lines[i++] + "\n";
        }
    }
    return html + cmark_html(plain);
}

}  // namespace steady::web
