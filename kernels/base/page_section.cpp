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
    const std::string end = fmt::format("<!-- end of {} -->\n", section.name);
    const std::string text = begin + std::string(section.text) + end;
    const auto from = page.find(begin);
    const auto last = from == std::string::npos ? from : page.find(end, from);
    if (last == std::string::npos) return page.empty() ? text : page + "\n" + text;
    return page.replace(from, last + end.size() - from, text);
}

void write_section(const std::filesystem::path& path, const PageSection& section) {
    std::stringstream page;
    if (std::filesystem::exists(path)) page << std::ifstream(path).rdbuf();
    write_page(path, with_section(page.str(), section));
}

void write_page(const std::filesystem::path& path, std::string_view text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (file) return;
    throw Error{fmt::format("--out: '{}' cannot be written; name a file in a folder that exists",
                            path.string())};
}

}  // namespace steady
