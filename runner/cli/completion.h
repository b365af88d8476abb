// Completion scripts from the table of verbs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/cli/command_line.h"

namespace steady {

// "bash", "zsh", "fish"
std::span<const std::string_view> completion_shells();

// The script for one of completion_shells(): verbs, then a verb's options, then what an option
// takes: files, folders, one of its words, or free text, for which nothing is offered.
std::string completion_script(std::string_view shell, std::span<const Verb> verbs);

}  // namespace steady
