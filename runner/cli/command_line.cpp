// Parsing by Boost.Program_options, driven by the table of verbs; texts written from the same
// table.
#include "runner/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/base/error.h"
#include "runner/cli/exit_map.h"
#include "runner/cli/verbs.h"

namespace steady {
namespace {

namespace po = boost::program_options;

constexpr std::array<Option, 4> kCommon{{
    {"json", "", "print one JSON document instead of text"},
    {"db", "URL", "the PostgreSQL to use (else STEADY_DATABASE_URL, else a private one)"},
    {"quiet", "", "print no progress on stderr"},
    {"help", "", "print this text"},
}};

po::options_description describe_options(const Verb& verb) {
    po::options_description description;
    auto add = [&](const Option& option) {
        const std::string name(option.name);
        if (option.argument.empty()) {
            description.add_options()(name.c_str(), "");
        } else if (option.repeats) {
            description.add_options()(name.c_str(), po::value<std::vector<std::string>>(), "");
        } else {
            description.add_options()(name.c_str(), po::value<std::string>(), "");
        }
    };
    for (const Option& option : verb.options) add(option);
    for (const Option& option : kCommon) add(option);
    return description;
}

std::vector<std::string> option_names(const Verb& verb) {
    std::vector<std::string> names;
    for (const Option& option : verb.options) names.push_back("--" + std::string(option.name));
    for (const Option& option : kCommon) names.push_back("--" + std::string(option.name));
    return names;
}

std::string usage_line(const Verb& verb) {
    std::string line = fmt::format("steady {}", verb.name);
    if (!verb.words.empty()) line += fmt::format(" {}", verb.words);
    return line;
}

// The verb whose words stand at the front of argv; groups ("stats check") are two words long.
const Verb* find_verb(std::span<const Verb> verbs, const std::vector<std::string>& argv,
                      size_t& used) {
    const Verb* best = nullptr;
    for (const Verb& verb : verbs) {
        const std::string name(verb.name);
        const size_t space = name.find(' ');
        const bool matches = space == std::string::npos
                                 ? argv[0] == name
                                 : argv.size() > 1 && argv[0] == name.substr(0, space) &&
                                       argv[1] == name.substr(space + 1);
        if (!matches) continue;
        best = &verb;
        used = space == std::string::npos ? 1 : 2;
        if (used == 2) break;
    }
    return best;
}

// What operators type by habit from other programs, and where it stands here.
constexpr std::pair<std::string_view, std::string_view> kHabits[] = {
    {"backup", "\"db dump\" backs up the database;"},
    {"restore", "`pg_restore` restores a file of \"db dump\", as the operator's guide says;"},
    {"upgrade", "\"db migrate\" backs up a shared database and brings it up to date;"},
};

[[noreturn]] void unknown_verb(std::span<const Verb> verbs, const std::vector<std::string>& argv) {
    std::vector<std::string> names, members, second;
    for (const Verb& verb : verbs) {
        const std::string name(verb.name);
        names.push_back(name);
        if (name.rfind(argv[0] + " ", 0) == 0) members.push_back(name);
        if (const size_t space = name.find(' ');
            space != name.npos && name.substr(space + 1) == argv[0])
            second.push_back(name);
    }
    if (!members.empty()) {
        throw Error(fmt::format("\"{}\" needs one of: {}", argv[0], fmt::join(members, ", ")));
    }
    std::string meant = second.size() == 1 ? fmt::format("; did you mean \"{}\"?", second[0])
                                           : did_you_mean(argv[0], names);
    for (const auto& [word, answer] : kHabits) {
        if (argv[0] == word) meant = fmt::format("; {}", answer);
    }
    throw Error(fmt::format("no verb \"{}\"{} `steady help` lists all verbs", argv[0], meant));
}

}  // namespace

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
    const auto it = options.find(name);
    return it == options.end() ? otherwise : it->second;
}

long long Arguments::number(const std::string& name, long long otherwise, long long low,
                            long long high) const {
    const auto it = options.find(name);
    if (it == options.end()) return otherwise;
    long long value = 0;
    const char* end = it->second.data() + it->second.size();
    const auto [stop, error] = std::from_chars(it->second.data(), end, value);
    if (error != std::errc() || stop != end || value < low || value > high) {
        const auto origin = origins.find(name);
        throw Error(fmt::format("--{}{}: found \"{}\", allowed a whole number from {} to {}", name,
                                origin == origins.end() ? "" : " (" + origin->second + ")",
                                it->second, low, high));
    }
    return value;
}

double Arguments::decimal(const std::string& name, double otherwise, double low,
                          double high) const {
    const auto it = options.find(name);
    if (it == options.end()) return otherwise;
    double value = 0;
    const char* end = it->second.data() + it->second.size();
    const auto [stop, error] = std::from_chars(it->second.data(), end, value);
    if (error != std::errc() || stop != end || !(value >= low) || !(value <= high)) {
        const auto origin = origins.find(name);
        throw Error(fmt::format("--{}{}: found \"{}\", allowed a number from {} to {}", name,
                                origin == origins.end() ? "" : " (" + origin->second + ")",
                                it->second, low, high));
    }
    return value;
}

std::span<const Option> common_options() { return kCommon; }

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
    std::optional<std::string> best;
    size_t best_distance = word.size() / 3 + 2;
    for (const std::string& candidate : candidates) {
        std::vector<size_t> row(candidate.size() + 1);
        std::iota(row.begin(), row.end(), size_t{0});
        for (size_t i = 1; i <= word.size(); ++i) {
            size_t diagonal = row[0];
            row[0] = i;
            for (size_t j = 1; j <= candidate.size(); ++j) {
                const size_t substitute = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
            }
        }
        if (row.back() < best_distance) {
            best_distance = row.back();
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
    const auto near = nearest(word, candidates);
    return near ? fmt::format("; did you mean \"{}\"?", *near) : ";";
}

Parsed parse_command_line(std::span<const Verb> verbs, const std::vector<std::string>& argv) {
    Parsed parsed;
    if (argv.empty() || argv[0] == "--help" || argv[0] == "-h" ||
        (argv[0] == "help" && argv.size() == 1)) {
        parsed.help = help_text(verbs);
        return parsed;
    }
    if (argv[0] == "--version") return parse_command_line(verbs, {"version"});
    if (argv[0] == "help") {
        size_t used = 0;
        const std::vector<std::string> rest(argv.begin() + 1, argv.end());
        const Verb* verb = find_verb(verbs, rest, used);
        if (verb == nullptr) unknown_verb(verbs, rest);
        parsed.help = help_text(*verb);
        return parsed;
    }
    size_t used = 0;
    const Verb* verb = find_verb(verbs, argv, used);
    if (verb == nullptr) unknown_verb(verbs, argv);

    po::options_description options = describe_options(*verb);
    options.add_options()("word", po::value<std::vector<std::string>>(), "");
    po::positional_options_description words;
    words.add("word", -1);
    po::variables_map values;
    try {
        namespace style = po::command_line_style;
        po::store(
            po::command_line_parser(
                std::vector<std::string>(argv.begin() + static_cast<long>(used), argv.end()))
                .options(options)
                .positional(words)
                .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                .run(),
            values);
    } catch (const po::unknown_option& error) {
        const std::string& name = error.get_option_name();
        throw Error(fmt::format("{}: no option \"{}\"{} `steady help {}` lists them",
                                usage_line(*verb), name, did_you_mean(name, option_names(*verb)),
                                verb->name));
    } catch (const po::error& error) {
        throw Error(fmt::format("{}: {}", usage_line(*verb), error.what()));
    }
    if (values.count("help") != 0) {
        parsed.help = help_text(*verb);
        return parsed;
    }
    parsed.verb = verb;
    parsed.arguments.verb = verb->name;
    parsed.arguments.argv = argv;
    if (values.count("word") != 0) {
        parsed.arguments.words = values["word"].as<std::vector<std::string>>();
    }
    const auto dashes = std::find(argv.begin(), argv.end(), "--");
    if (dashes != argv.end()) parsed.arguments.rest.assign(dashes + 1, argv.end());
    for (const auto& [name, value] : values) {
        if (name == "word") continue;
        if (const auto* list = boost::any_cast<std::vector<std::string>>(&value.value())) {
            parsed.arguments.lists[name] = *list;
            continue;
        }
        parsed.arguments.options[name] = value.empty() ? "1" : value.as<std::string>();
    }
    const int n_words = static_cast<int>(parsed.arguments.words.size());
    if (n_words < verb->min_words || (verb->max_words >= 0 && n_words > verb->max_words)) {
        throw Error(fmt::format("usage: {}; {} given. `steady help {}` lists its options",
                                usage_line(*verb), n_words, verb->name));
    }
    return parsed;
}

std::string help_text(std::span<const Verb> verbs) {
    std::string text =
        "steady decides whether a change makes a program faster, and remembers every decision.\n\n"
        "usage: steady VERB [ARGUMENTS] [OPTIONS]\n"
        "       steady --version\n\n";
    size_t width = 0;
    for (const Verb& verb : verbs)
        width = std::max(width, verb.name.size() + verb.words.size() + 1);
    for (const Verb& verb : verbs) {
        std::string left(verb.name);
        if (!verb.words.empty()) left += fmt::format(" {}", verb.words);
        text += fmt::format("  {:<{}}  {}\n", left, width, verb.summary);
    }
    text += "\nEvery verb takes:\n";
    for (const Option& option : kCommon) {
        text += fmt::format("  --{:<{}}  {}\n", fmt::format("{} {}", option.name, option.argument),
                            width - 2, option.help);
    }
    text +=
        "\nExit codes: 0 accept or success, 10 reject, 11 inconclusive, 12 invalid,\n"
        "1 internal error, 2 usage or bad input, 130 interrupted.\n";
    return text;
}

std::string help_text(const Verb& verb) {
    std::string text = fmt::format("usage: {} [OPTIONS]\n\n{}\n\n", usage_line(verb), verb.summary);
    auto add = [&](const Option& option) {
        std::string left = fmt::format("--{}", option.name);
        if (!option.argument.empty()) left += fmt::format(" {}", option.argument);
        text += fmt::format("  {:<24}  {}\n", left, option.help);
    };
    for (const Option& option : verb.options) add(option);
    for (const Option& option : kCommon) add(option);
    return text;
}

int print(const Arguments& arguments, const nlohmann::json& document, const std::string& text) {
    fmt::print("{}\n", arguments.has("json") ? document.dump(2) : text);
    return kExitOk;
}

int run_program(std::span<const Verb> verbs, int argc, char** argv) {
    try {
        Parsed parsed = parse_command_line(verbs, {argv + 1, argv + argc});
        if (parsed.verb == nullptr) {
            fmt::print("{}", parsed.help);
            return kExitOk;
        }
        add_settings(*parsed.verb, parsed.arguments);
        return parsed.verb->run(parsed.arguments);
    } catch (const Error& error) {
        fmt::print(stderr, "steady: {}\n", error.what());
        return error_exit(error.exit_code, argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "steady: internal error: {}\n", error.what());
        return error_exit(kExitInternal, argc, argv);
    }
}

}  // namespace steady
