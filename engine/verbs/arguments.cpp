// Parsing against the table, and the help pages made from it.
#include "engine/verbs/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/exec/tuned_defaults.h"
#include "kernels/base/error.h"
#include "kernels/base/revision.h"
#include "kernels/registry/registry.h"

namespace steady {
namespace {

const std::vector<OptionSpec>& common_options() {
    static const std::vector<OptionSpec> options{
        {"--json", "", "one JSON document on standard output"},
        {"--cpu", "LEVEL", "treat this CPU as a lesser one: x86-64-v2, avx2, avx512, avx512_vnni"},
        {"--defaults", "FILE",
         "this machine's own defaults, or none (else engine-defaults.json in ~/.config/steady)"},
        {"--help", "", "this page", "-h"},
    };
    return options;
}

const std::vector<OptionSpec>& plan_options() {
    static const std::vector<OptionSpec> options{
        {"--kernels", "PLAN", "\"reference\", or op=variant,… over the champions"},
        {"--kernel.OP", "VARIANT", "one op's variant"},
        {"--step.STEP", "NAME",
         "one step's alternative: block apart|joined|whole, moe fused|…, mla absorbed|…, norm "
         "apart|…"},
        {"--threads", "T", "threads; default: all CPUs that the process may use"},
        {"--wait", "HOW", "spin or sleep between launches"},
        {"--cut", "HOW", "static, steal, dynamic, or dynamic:N (pieces per thread)"},
        {"--pin", "WHETHER", "on or off: threads bound to CPUs"},
        {"--batch", "N",
         "tokens of a prompt per pass; 1: token by token; default 64 or the CPU class's, on a GPU "
         "512"},
        {"--cache", "TYPE",
         "of the KV cache's values: f32 (default, or the mla step's integers), f16, bf16"},
        {"--activations", "FORM",
         "q8 or q16: defaults read 8 or 16 bits per activation where they can"},
        {"--device", "WHERE", "cpu (default), cuda, or cuda:N for GPU N"},
        {"--launch", "HOW",
         "of a token's kernels on a GPU: stream, graph, dependent (default), persistent"},
        {"--burn", "SHARE", "spin this share of each token's time away, e.g. 1%"},
        {"--tag", "TEXT", "a name that is read back and changes nothing"},
    };
    return options;
}

std::vector<OptionSpec> all_options(const Verb& verb) {
    std::vector<OptionSpec> options = verb.options;
    if (verb.takes_plan) {
        options.insert(options.end(), plan_options().begin(), plan_options().end());
    }
    options.insert(options.end(), common_options().begin(), common_options().end());
    return options;
}

std::string general_help() {
    std::string text =
        "steady-engine: decodes GGUF models of architecture deepseek2 on the CPU or a GPU.\n\n"
        "  steady-engine VERB … [--json]      steady-engine VERB --help      steady-engine "
        "--version\n\n";
    for (const Verb& verb : verbs()) {
        text += fmt::format("  {:<12} {:<12} {}\n", verb.name, verb.positionals, verb.summary);
    }
    return text +
           "\nExit codes: 0 success, 1 internal error, 2 usage or bad input, "
           "130 interrupted.\n";
}

std::string help_of(const Verb& verb) {
    std::string text = fmt::format("steady-engine {} {} [options]\n{}.\n", verb.name,
                                   verb.positionals, verb.summary);
    if (!verb.more.empty()) text += fmt::format("\n{}\n", verb.more);
    text += "\n";
    for (const OptionSpec& option : all_options(verb)) {
        std::string left(option.name);
        if (!option.short_name.empty()) left = std::string(option.short_name) + ", " + left;
        if (!option.value.empty()) left += " " + std::string(option.value);
        text += fmt::format("  {:<24} {}\n", left, option.help);
    }
    return text;
}

const OptionSpec* find_option(const std::vector<OptionSpec>& options, std::string_view word) {
    for (const OptionSpec& option : options) {
        if (word == option.name || (!word.empty() && word == option.short_name)) return &option;
    }
    return nullptr;
}

[[noreturn]] void unknown_option(const Verb& verb, std::string_view word) {
    std::vector<std::string_view> names;
    std::string all;
    const std::vector<OptionSpec> options = all_options(verb);
    for (const OptionSpec& option : options) {
        names.push_back(option.name);
        all += (all.empty() ? "" : ", ") + std::string(option.name);
    }
    const std::string guess = nearest(word, names);
    throw Error{fmt::format("{}: unknown option '{}'{}. Options: {}", verb.name, word,
                            guess.empty() ? "" : "; did you mean '" + guess + "'?", all)};
}

// Splits "--name=value"; takes the next word when the option wants a value and has none.
struct Words {
    const std::vector<std::string>& words;
    std::size_t at;
    std::string value_for(std::string_view name, const std::string& word) {
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            return word.substr(equals + 1);
        }
        if (at + 1 >= words.size()) throw Error{fmt::format("{} needs a value", name)};
        return words[++at];
    }
};

void parse_option(const Verb& verb, Words& words, Arguments& arguments) {
    const std::string& word = words.words[words.at];
    const std::string name = word.substr(0, word.find('='));
    const auto dotted = [&](std::string_view prefix, std::map<std::string, std::string>& into) {
        if (!verb.takes_plan || name.rfind(prefix, 0) != 0) return false;
        const std::string key = name.substr(prefix.size());
        if (!into.emplace(key, words.value_for(name, word)).second) {
            throw Error{fmt::format("{} is given twice", name)};
        }
        return true;
    };
    if (dotted("--kernel.", arguments.plan.kernels) || dotted("--step.", arguments.plan.steps)) {
        return;
    }
    const std::vector<OptionSpec> options = all_options(verb);
    const OptionSpec* option = find_option(options, name);
    if (option == nullptr) unknown_option(verb, name);
    if (option->value.empty() && word.find('=') != std::string::npos) {
        throw Error{fmt::format("{} takes no value", name)};
    }
    const std::string value = option->value.empty() ? "" : words.value_for(name, word);
    if (!arguments.options.emplace(std::string(option->name), value).second) {
        throw Error{fmt::format("{} is given twice", option->name)};
    }
}

std::size_t wanted_positionals(const Verb& verb) {
    return verb.positionals.empty()
               ? 0
               : static_cast<std::size_t>(
                     1 + std::count(verb.positionals.begin(), verb.positionals.end(), ' '));
}

int run_verb(const Verb& verb, const std::vector<std::string>& words, std::size_t first) {
    Arguments arguments;
    for (Words rest{words, first}; rest.at < words.size(); ++rest.at) {
        const std::string& word = words[rest.at];
        if (word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9')) {
            parse_option(verb, rest, arguments);
        } else {
            arguments.positionals.push_back(word);
        }
    }
    if (arguments.has("--help")) {
        fmt::print("{}", help_of(verb));
        return kExitOk;
    }
    if (arguments.positionals.size() != wanted_positionals(verb)) {
        throw Error{fmt::format("{}: wants {}, got {} word(s); see steady-engine {} --help",
                                verb.name, verb.positionals.empty() ? "no words" : verb.positionals,
                                arguments.positionals.size(), verb.name)};
    }
    cpu::Features hidden;
    if (!cpu::beyond_level(arguments.text("--cpu", "native"), hidden)) {
        throw Error{fmt::format("--cpu: unknown level '{}'. Choices: {}", arguments.text("--cpu"),
                                cpu::kLevels)};
    }
    cpu::mask(hidden);
    use_tuned_defaults(arguments.text("--defaults"));
    if (arguments.has("--kernels")) {
        PlanRequest plan = parse_plan(arguments.text("--kernels"));
        for (const auto& [op, variant] : arguments.plan.kernels) plan.kernels[op] = variant;
        for (const auto& [step, name] : arguments.plan.steps) plan.steps[step] = name;
        arguments.plan = std::move(plan);
    }
    return verb.run(arguments);
}

}  // namespace

std::string Arguments::text(std::string_view name, std::string_view fallback) const {
    const auto found = options.find(name);
    return found == options.end() ? std::string(fallback) : found->second;
}

std::int64_t Arguments::number(std::string_view name, std::int64_t low, std::int64_t high,
                               std::int64_t fallback) const {
    const auto found = options.find(name);
    if (found == options.end()) return fallback;
    const std::string& text = found->second;
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        throw Error{
            fmt::format("{}: '{}' is not a whole number from {} to {}", name, text, low, high)};
    }
    return value;
}

std::vector<std::int64_t> Arguments::numbers(std::string_view name, std::int64_t low,
                                             std::int64_t high) const {
    std::vector<std::int64_t> values;
    if (!has(name)) return values;
    const std::string list = text(name);
    for (std::string_view rest = list;;) {
        const std::string_view part = rest.substr(0, rest.find(','));
        std::int64_t value = 0;
        const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (problem != std::errc() || end != part.data() + part.size() || value < low ||
            value > high) {
            throw Error{fmt::format(
                "{}: '{}' is not a whole number from {} to {}, or a list of them such as 64,512",
                name, part, low, high)};
        }
        values.push_back(value);
        if (part.size() == rest.size()) return values;
        rest.remove_prefix(part.size() + 1);
    }
}

double Arguments::real(std::string_view name, double low, double high, double fallback) const {
    const auto found = options.find(name);
    if (found == options.end()) return fallback;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() ||
        !(value >= low && value <= high)) {
        throw Error{fmt::format("{}: '{}' is not a number from {} to {}", name, text, low, high)};
    }
    return value;
}

std::vector<std::int32_t> Arguments::tokens(std::string_view name, std::int64_t n_vocab) const {
    const std::string list = text(name);
    std::vector<std::int32_t> tokens;
    for (std::string_view rest = list; !rest.empty();) {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        std::int64_t token = -1;
        const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), token);
        if (problem != std::errc() || end != part.data() + part.size() || token < 0 ||
            token >= n_vocab) {
            throw Error{fmt::format("{}: '{}' is not a token of this model; allowed 0 … {}", name,
                                    part, n_vocab - 1)};
        }
        tokens.push_back(static_cast<std::int32_t>(token));
    }
    if (tokens.empty()) {
        throw Error{fmt::format("{}: no tokens; write a list such as 1,2,3", name)};
    }
    return tokens;
}

ArmOptions Arguments::arm() const {
    ArmOptions arm;
    arm.plan = plan;
    arm.threads.threads = static_cast<int>(number("--threads", 1, 1024, usable_cpus()));
    for (const char* flag : {"wait", "cut", "pin", "batch", "cache", "activations", "burn",
                             "device", "launch", "tag"}) {
        const std::string option = std::string("--") + flag;
        if (has(option)) set_engine_flag(arm, flag, text(option));
    }
    return arm;
}

int run_command(const std::vector<std::string>& words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        fmt::print("{}", general_help());
        return words.empty() ? kExitUsage : kExitOk;
    }
    if (words[0] == "--version") {
        fmt::print("steady-engine {} ({})\n", steady_version(), steady_revision());
        return kExitOk;
    }
    std::vector<std::string_view> names;
    for (const Verb& verb : verbs()) {
        const std::string name(verb.name);
        names.push_back(verb.name);
        if (name == words[0]) return run_verb(verb, words, 1);
        if (words.size() > 1 && name == words[0] + " " + words[1]) return run_verb(verb, words, 2);
    }
    std::string all;
    for (const std::string_view name : names) {
        all += (all.empty() ? "" : ", ") + std::string(name);
    }
    const std::string guess = nearest(words[0], names);
    throw Error{fmt::format("unknown verb '{}'{}. Verbs: {}", words[0],
                            guess.empty() ? "" : "; did you mean '" + guess + "'?", all)};
}

}  // namespace steady
