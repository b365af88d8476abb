// The command line, from one table of verbs: parsing and --help here, completion.h and manual.h
// beside it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

struct Option {
    std::string_view name;      // long name without dashes
    std::string_view argument;  // placeholder of its value; empty: a switch
    std::string_view help;
    bool repeats = false;  // may stand several times
};

struct Arguments {
    std::string verb;
    std::vector<std::string> words;              // positional
    std::vector<std::string> rest;               // of them, those that follow --
    std::map<std::string, std::string> options;  // given ones; a switch has the value "1"
    std::map<std::string, std::vector<std::string>> lists;  // options that may repeat
    std::map<std::string, std::string> origins;  // of options that a setting has set, not a flag
    std::vector<std::string> argv;               // all of it as it was given, the verb first

    bool has(const std::string& name) const { return options.contains(name); }
    std::string get(const std::string& name, const std::string& otherwise = {}) const;
    // Whole number in [low, high]; Error names the option, its origin, what was found and the
    // range.
    long long number(const std::string& name, long long otherwise, long long low,
                     long long high) const;
    // A number that may have a fraction.
    double decimal(const std::string& name, double otherwise, double low, double high) const;
};

// A verb's result on stdout: the document with --json, else the text. Returns 0.
int print(const Arguments& arguments, const nlohmann::json& document, const std::string& text);

struct Verb {
    std::string_view name;     // one word, or two for a group: "stats check"
    std::string_view words;    // positional part of the usage line, e.g. "FILE…"
    int min_words, max_words;  // max_words < 0: no limit
    std::string_view summary;  // one line, starts lower case
    std::vector<Option> options;
    int (*run)(const Arguments&);  // returns the exit code
};

// Options that every verb has.
std::span<const Option> common_options();

// argv without the program's name → verb and its arguments. Throws Error (exit 2) naming what is
// wrong, what is allowed and the nearest name.
struct Parsed {
    const Verb* verb = nullptr;  // nullptr: help was asked for, text in `help`
    Arguments arguments;
    std::string help;
};
Parsed parse_command_line(std::span<const Verb> verbs, const std::vector<std::string>& argv);

// What main() does: parses, runs the verb and returns the exit code; an error is one line on
// stderr.
int run_program(std::span<const Verb> verbs, int argc, char** argv);

std::string help_text(std::span<const Verb> verbs);
std::string help_text(const Verb& verb);

// The candidate nearest to `word`, if it is near enough to be a typing error.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);
// What stands after the name of something that does not exist and before what to do next: that
// candidate in words, or a semicolon alone.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace steady
