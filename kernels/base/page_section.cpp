// Sections by their comments: found by name, replaced whole, or put at the end of the page.
#include "kernels/base/page_section.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "kernels/base/error.h"

namespace steady {

std::string with_section(std::string page, const PageSection& section) {
    const std::string begin =
        fmt::format("<!-- {}: made by `{}`, not edited -->\n", section.name, section.made_by);
    const std::string last_line = fmt::format("<!-- end of {} -->", section.name);
    const std::string text = fmt::format("{}{}{}\n", begin, section.text, last_line);
    const auto from = page.find(begin);
    if (from == std::string::npos) return page.empty() ? text : page + "\n" + text;
    const auto last = page.find(last_line + "\n", from);
    if (last == std::string::npos) {
        throw Error{
            fmt::format("--out: the section '{}' of the page begins, but its last line, {}, "
                        "is missing; put it back, or delete the section",
                        section.name, last_line)};
    }
    return page.replace(from, last + last_line.size() + 1 - from, text);
}

void write_section(const std::filesystem::path& path, const PageSection& section) {
    std::stringstream page;
    if (std::filesystem::exists(path)) page << std::ifstream(path).rdbuf();
    write_page(path, with_section(page.str(), section));
}

void check_page(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder)) return;
    throw Error{fmt::format("--out: '{}' cannot be written; name a file in a folder that exists",
                            path.string())};
}

void write_page(const std::filesystem::path& path, std::string_view text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (file) return;
    check_page(path);
    throw Error{fmt::format("--out: '{}' cannot be written", path.string())};
}

}  // namespace steady
