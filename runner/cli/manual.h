// Manual pages in roff, from the table of verbs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runner/cli/command_line.h"

namespace steady {

struct ManualPage {
    std::string name;  // "steady", "steady-db-start": a file NAME.1 of section 1
    std::string text;
};

// steady.1, with all settings, and one page per verb; version as on the page's foot: "0.1.0".
std::vector<ManualPage> manual_pages(std::span<const Verb> verbs, const std::string& version);

}  // namespace steady
