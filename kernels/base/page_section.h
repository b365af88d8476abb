// A part of a page that a command makes: it lies between two comments and is replaced whole when
// the command runs again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace steady {

struct PageSection {
    std::string_view name;     // as "avx2": one page holds one section of a name
    std::string_view made_by;  // the command, as "steady-kernels ladder --out"
    std::string_view text;     // Markdown that ends with a line's end
};

// The page with this section in place of the one of its name, or at its end. Error: a section of
// this name begins and does not end.
std::string with_section(std::string page, const PageSection& section);

// The same in a file, which is made if it is missing. Error: it cannot be written.
void write_section(const std::filesystem::path& path, const PageSection& section);

// Error now, not after minutes of measuring: the page's folder does not exist.
void check_page(const std::filesystem::path& path);

// A file with this text alone. Error: it cannot be written.
void write_page(const std::filesystem::path& path, std::string_view text);

}  // namespace steady
