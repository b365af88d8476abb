// A program that a worker's owner allows others to measure there: which repository and branches,
// how it is built, which commands with which arguments. A queued experiment names the program and
// fills in parameters; it brings no command of its own. Pure: decoding and comparing only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/spec/spec.h"

namespace steady {

struct ArgumentRule {
    std::string pattern;  // regular expression that the whole value must match
    std::string example;  // a value that `steady program check` uses
};

struct RegisteredProgram {
    std::string name;
    std::string repository;         // absolute path of a git repository on this machine
    std::vector<std::string> refs;  // branches and tags; * stands for any characters
    std::vector<std::vector<std::string>> build;
    // Commands in which {name} stands for an argument and a last word {name...} for any number.
    std::vector<std::vector<std::string>> run;
    std::map<std::string, ArgumentRule> arguments;
    std::vector<std::string> adapters;               // empty: all
    std::map<std::string, std::string> env;          // always set, for build and run
    std::map<std::string, std::string> env_allowed;  // variable → pattern of what arms may set
    bool network = false;
    std::vector<std::string> readable;  // further folders that it may read
    std::uint64_t memory_mb = 0;        // 0: no limit
    std::uint64_t scratch_mb = 1024;
    int processes = 512;
    std::string cpus;  // "1", "2-3,6": where its measured runs are; empty: all
    int build_minutes = 60;
};

struct ProgramResult {
    std::optional<RegisteredProgram> program;  // set only when errors is empty
    std::vector<SpecError> errors;
};

// stem: the file's name without ".json"; empty skips that check.
ProgramResult parse_program(std::string_view text, std::string_view stem);

struct AskedRevision {
    std::string text;               // as written in the experiment
    std::vector<std::string> refs;  // branches and tags that contain its commit
};

// What an experiment wants to run.
struct AskedProgram {
    std::string name, repository;  // repository: as written, may be empty
    std::vector<AskedRevision> revisions;
    std::vector<std::vector<std::string>> build;     // may be empty
    std::vector<std::vector<std::string>> commands;  // as they would run, arms' arguments included
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<std::string> adapters;
};

// Why this may not run, in words, one objection each; empty: it may.
std::vector<std::string> objections(const RegisteredProgram& program, const AskedProgram& asked);

// The example of each template, for a first run: placeholders filled with the arguments' examples.
std::vector<std::vector<std::string>> example_commands(const RegisteredProgram& program);

// "release/*" matches "release/1.2".
bool matches_glob(std::string_view pattern, std::string_view text);
bool ref_allowed(const RegisteredProgram& program, const std::vector<std::string>& refs);

}  // namespace steady
