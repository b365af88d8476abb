// Commands with places for arguments: "./bench", "--filter={filter}", "{files...}". {src} and
// {model} are none: the runner fills them in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/programs/registry/registered_program.h"

namespace steady {

// The whole text matches the regular expression; values beyond 1000 characters never do.
bool matches_whole(const std::string& pattern, const std::string& text);

// Names of the arguments that a word of a template refers to, without braces.
std::vector<std::string> placeholders(const std::string& word);

// Why the command does not fit the template; empty: it fits.
std::string template_mismatch(const std::vector<std::string>& pattern,
                              const std::map<std::string, ArgumentRule>& arguments,
                              const std::vector<std::string>& command);

// The template with each argument's example.
std::vector<std::string> fill_template(const std::vector<std::string>& pattern,
                                       const std::map<std::string, ArgumentRule>& arguments);

// True for "{files...}", a last word that stands for any number of words.
bool stands_for_many(const std::string& word);

}  // namespace steady
