// The command line of steady-engine: one table of verbs gives parsing, --help and error messages.
// Options may stand anywhere after the verb; whatever the table does not name is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/options.h"

namespace steady {

struct OptionSpec {
    std::string_view name;   // "--tokens"
    std::string_view value;  // "LIST"; empty: a switch
    std::string_view help;
    std::string_view short_name = "";
};

struct Arguments {
    std::vector<std::string> positionals;
    std::map<std::string, std::string, std::less<>> options;  // name → value, "" for a switch
    PlanRequest plan;                                         // --kernels, --kernel.OP, --step.STEP

    bool has(std::string_view name) const { return options.find(name) != options.end(); }
    std::string text(std::string_view name, std::string_view fallback = "") const;
    // Error naming option, found and range.
    std::int64_t number(std::string_view name, std::int64_t low, std::int64_t high,
                        std::int64_t fallback) const;
    // "64" or "64,512"; empty when the option is absent.
    std::vector<std::int64_t> numbers(std::string_view name, std::int64_t low,
                                      std::int64_t high) const;
    double real(std::string_view name, double low, double high, double fallback) const;
    // "1,2,3"; Error for anything but numbers in [0, n_vocab).
    std::vector<std::int32_t> tokens(std::string_view name, std::int64_t n_vocab) const;
    bool json() const { return has("--json"); }
    // Device, threads, the other engine flags and the plan.
    ArmOptions arm() const;
};

struct Verb {
    std::string_view name;         // "bench model" has two words
    std::string_view positionals;  // "FILE"
    std::string_view summary;
    std::string_view more;    // paragraphs of help
    bool takes_plan = false;  // and threads and engine flags
    std::vector<OptionSpec> options;
    int (*run)(const Arguments& arguments);
};

const std::vector<Verb>& verbs();

// Runs the program: picks the verb, parses, runs. Returns the exit code; Error for a bad command
// line.
int run_command(const std::vector<std::string>& words);

}  // namespace steady
