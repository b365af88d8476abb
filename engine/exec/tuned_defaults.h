// Defaults that a machine's own verdicts made: a file written by `steady tune-defaults`, for one
// class of CPU. They come after flags and before engine/exec/champions.cpp.
#pragma once

#include <map>
#include <string>

namespace steady {

struct TunedDefaults {
    std::string path;  // empty: no file was read
    std::string cpu_class;
    std::map<std::string, std::string> choices;  // op or step → variant or alternative
};

// Decodes such a file. Error naming the file, what was found and what is allowed.
TunedDefaults read_tuned_defaults(const std::string& path);

// $XDG_CONFIG_HOME/steady/engine-defaults.json, or the same under ~/.config; empty without either.
std::string tuned_defaults_place();

// Which file counts for this process: a path; "none"; or "", the usual place if there is a file.
// Error for a file that is missing or malformed.
void use_tuned_defaults(const std::string& path);

// The file in use; none unless use_tuned_defaults() was called.
const TunedDefaults& tuned_defaults();

// The choice of an op or step, empty when there is none, or the file is of another class of CPU.
std::string tuned_choice(const std::string& op);

}  // namespace steady
