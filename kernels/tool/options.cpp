// Parsing by a table of options; every complaint names the choices.
#include "kernels/tool/options.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>

#include "kernels/base/error.h"

namespace steady::tool {
namespace {

const std::vector<std::string_view> kVerbs = {"list",   "check",  "bench", "duet", "tune",
                                              "ladder", "disasm", "read",  "bound"};

template <class Number>
Number number(const std::string& option, const std::string& text, Number least, Number most) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || value < least ||
        value > most) {
        throw Error{
            fmt::format("{} '{}': a number from {} to {} is needed", option, text, least, most)};
    }
    return value;
}

CutRule parse_cut(const std::string& text) {
    constexpr std::string_view kDynamic = "dynamic";
    if (text == "static") return {0};
    if (text == kDynamic) return {8};
    int pieces = 0;
    const char* first = text.data() + std::min(text.size(), kDynamic.size() + 1);
    const char* last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(first, last, pieces);
    if (text.rfind("dynamic:", 0) == 0 && problem == std::errc() && end == last && pieces >= 1 &&
        pieces <= 64) {
        return {pieces};
    }
    throw Error{
        fmt::format("--cut '{}': static, dynamic, or dynamic:N with N from 1 to 64 pieces "
                    "per thread",
                    text)};
}

std::string parse_device(const std::string& text) {
    const std::string number = text.rfind("cuda:", 0) == 0 ? text.substr(5) : "";
    const bool numbered = !number.empty() && number.size() < 4 &&
                          number.find_first_not_of("0123456789") == std::string::npos;
    if (text == "cpu" || text == "cuda" || numbered) return text;
    throw Error{
        fmt::format("--device '{}': cpu, cuda, or cuda:N with N the GPU's number from 0", text)};
}

using Setter = std::function<void(Options&, const std::string&)>;

const std::map<std::string, Setter, std::less<>>& value_options() {
    static const std::map<std::string, Setter, std::less<>> table = {
        {"--op", [](Options& o, const std::string& v) { o.op = v; }},
        {"--variant", [](Options& o, const std::string& v) { o.variant = v; }},
        {"--shape", [](Options& o, const std::string& v) { o.shape = v; }},
        {"--a", [](Options& o, const std::string& v) { o.a = v; }},
        {"--b", [](Options& o, const std::string& v) { o.b = v; }},
        {"--coins", [](Options& o, const std::string& v) { o.coins = v; }},
        {"--cpu", [](Options& o, const std::string& v) { o.cpu = v; }},
        {"--cut", [](Options& o, const std::string& v) { o.cut = parse_cut(v); }},
        {"--cache", [](Options& o, const std::string& v) { o.cache = v; }},
        {"--out", [](Options& o, const std::string& v) { o.out = v; }},
        {"--without", [](Options& o, const std::string& v) { o.without.push_back(v); }},
        {"--seed",
         [](Options& o, const std::string& v) {
             o.seed = number<std::uint64_t>("--seed", v, 0, UINT64_MAX);
         }},
        {"--threads",
         [](Options& o, const std::string& v) { o.threads = number("--threads", v, 1, 1024); }},
        {"--repetitions",
         [](Options& o, const std::string& v) {
             o.repetitions = number("--repetitions", v, 1, 10000);
         }},
        {"--seconds",
         [](Options& o, const std::string& v) {
             o.seconds = number("--seconds", v, 1e-4, 3600.0);
         }},
        {"--device", [](Options& o, const std::string& v) { o.device = parse_device(v); }},
        {"--compute",
         [](Options& o, const std::string& v) { o.compute = number("--compute", v, 50, 999); }},
        {"--chunk",
         [](Options& o, const std::string& v) { o.chunk = number("--chunk", v, 1, 10000); }},
        {"--warmup",
         [](Options& o, const std::string& v) { o.warmup = number("--warmup", v, 0, 1000000); }},
        {"--reps",
         [](Options& o, const std::string& v) { o.reps = number("--reps", v, 1, 10000000); }},
    };
    return table;
}

std::string joined(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text;
}

[[noreturn]] void unknown(std::string_view what, const std::string& name,
                          const std::vector<std::string_view>& names) {
    const std::string guess = nearest(name, names);
    throw Error{fmt::format("unknown {} '{}'{} Choices: {}", what, name,
                            guess.empty() ? "." : fmt::format("; did you mean '{}'?", guess),
                            joined(names))};
}

[[noreturn]] void unknown_option(const std::string& name) {
    std::vector<std::string_view> names = {"--json", "--warm", "--again", "--counts", "--help"};
    for (const auto& [option, setter] : value_options()) names.push_back(option);
    unknown("option", name, names);
}

void check_duet(const Options& o) {
    if (o.op.empty() || o.a.empty() || o.b.empty() || o.shape.empty() || o.coins.empty()) {
        throw Error{"duet needs --op OP --a VARIANT --b VARIANT --shape SHAPE --coins 0101…"};
    }
    if (o.coins.find_first_not_of("01") != std::string::npos) {
        throw Error{fmt::format("--coins '{}': only 0 (A first) and 1 (B first)", o.coins)};
    }
    const int blocks = (o.warmup + o.chunk - 1) / o.chunk + (o.reps + o.chunk - 1) / o.chunk;
    if (static_cast<int>(o.coins.size()) < std::max(blocks, (o.warmup + o.chunk) / o.chunk)) {
        throw Error{
            fmt::format("--coins has {} blocks; --warmup {} and --reps {} at --chunk {} need {}",
                        o.coins.size(), o.warmup, o.reps, o.chunk,
                        std::max(blocks, (o.warmup + o.chunk) / o.chunk))};
    }
}

void hide(const Options& options) {
    cpu::Features hidden;
    if (!cpu::beyond_level(options.cpu, hidden)) {
        throw Error{
            fmt::format("--cpu '{}': unknown level. Choices: {}", options.cpu, cpu::kLevels)};
    }
    for (const std::string& name : options.without) {
        const cpu::Features found = cpu::to_hide(name);
        if (found == cpu::none) {
            unknown("CPU feature", name,
                    {"avx2", "fma", "f16c", "avx512", "avx512bw", "avx512vl", "avx512dq",
                     "avx512_vnni", "avx512vbmi", "avx512bf16", "amx", "amx_tile", "amx_int8"});
        }
        hidden = hidden | found;
    }
    cpu::mask(hidden);
}

// A word after the verb: `disasm` takes one, OP/VARIANT.
void take_word(Options& options, const std::string& word) {
    if (options.verb.empty()) {
        options.verb = word;
        return;
    }
    const std::size_t slash = word.find('/');
    if (options.verb != "disasm" || slash == std::string::npos || !options.op.empty()) {
        throw Error{fmt::format("unexpected argument '{}'{}", word,
                                options.verb == "disasm" ? "; write OP/VARIANT" : "")};
    }
    options.op = word.substr(0, slash);
    options.variant = word.substr(slash + 1);
}

bool take_switch(Options& options, const std::string& name) {
    bool* chosen = name == "--json"     ? &options.json
                   : name == "--warm"   ? &options.warm
                   : name == "--again"  ? &options.again
                   : name == "--counts" ? &options.counts
                                        : nullptr;
    if (chosen == nullptr) return false;
    *chosen = true;
    return true;
}

void check_verb(const Options& options) {
    if (options.verb.empty()) throw Error{"a verb is needed: " + joined(kVerbs) + "\n" + usage()};
    if (std::find(kVerbs.begin(), kVerbs.end(), options.verb) == kVerbs.end()) {
        unknown("verb", options.verb, kVerbs);
    }
    if (options.verb == "duet") check_duet(options);
    if (options.verb == "disasm" && (options.op.empty() || options.variant.empty())) {
        throw Error{"disasm needs OP/VARIANT, for example q4_0_matvec/avx2"};
    }
    if (options.device != "cpu" && options.verb != "bench" && options.verb != "duet" &&
        options.verb != "tune") {
        throw Error{
            fmt::format("--device {}: bench, duet and tune take it, not {}; check, list and disasm "
                        "need no such option for variants of the GPU",
                        options.device, options.verb)};
    }
    if (options.device != "cpu" && (options.threads != 1 || options.cut.pieces_per_thread != 0)) {
        throw Error{"--threads and --cut divide a CPU's work; leave them out with --device " +
                    options.device};
    }
    if (!options.shape.empty() && options.op.empty()) {
        throw Error{"--shape needs --op: shapes belong to an op"};
    }
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string name = arguments[i];
        if (name == "--help" || name == "-h" || name == "help") {
            options.help = true;
            return options;
        }
        if (name.rfind("--", 0) != 0) {
            take_word(options, name);
            continue;
        }
        if (take_switch(options, name)) continue;
        const std::size_t equals = name.find('=');
        std::string value;
        if (equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.resize(equals);
        }
        const auto setter = value_options().find(name);
        if (setter == value_options().end()) unknown_option(name);
        if (equals == std::string::npos) {
            if (++i == arguments.size()) throw Error{name + " needs a value"};
            value = arguments[i];
        }
        setter->second(options, value);
    }
    check_verb(options);
    hide(options);
    return options;
}

std::string usage() {
    return "usage: steady-kernels list   [--op OP] [--json]\n"
           "       steady-kernels check  [--op OP] [--variant V] [--shape S] [--seed N] [--json]\n"
           "       steady-kernels bench  [--op OP] [--variant V] [--shape S] [--threads T] "
           "[--cut C]\n"
           "                             [--warm] [--repetitions N] [--seconds S] [--json]\n"
           "       steady-kernels bench  --device cuda[:N] [--op OP] [--variant V] [--shape S]\n"
           "                             [--warm] [--repetitions N] [--seconds S] [--json]\n"
           "       steady-kernels duet   --op OP --a V --b V --shape S --coins 0101… [--chunk N]\n"
           "                             [--warmup N] [--reps N] [--threads T] [--cut C] [--json]\n"
           "                             [--device cuda[:N]]\n"
           "       steady-kernels tune   [--op OP] [--variant V] [--shape S] [--threads T] "
           "[--warm]\n"
           "                             [--cache FILE] [--again] [--device cuda[:N]] [--json]\n"
           "       steady-kernels ladder [--op OP] [--shape S] [--threads T] [--out DIR] [--json]\n"
           "       steady-kernels disasm OP/VARIANT [--counts] [--compute N] [--json]\n"
           "       steady-kernels read   [--threads T] [--json]\n"
           "       steady-kernels bound  [--op OP] [--variant V] [--shape S] [--threads T] "
           "[--warm]\n"
           "                             [--json]\n"
           "With --device cuda, bench, duet and tune time variants of the GPU over weights in\n"
           "its memory. disasm prints machine code; --counts prints what it is made of and\n"
           "needs no disassembler; --compute N (80, 90) chooses for which GPUs. A shape reads\n"
           "rows=768,cols=2048. A cut is static, dynamic or dynamic:N (pieces per thread).\n"
           "tune searches variant and cut per shape, on a GPU the variant, and remembers in\n"
           "FILE (.steady/tune.json); its winner is a candidate, not a verdict. ladder writes\n"
           "its section of DIR/LADDER.md and DIR/ladder-LEVEL.svg. read measures what memory\n"
           "gives, by several loops. bound counts instructions per 32 weights and says at\n"
           "which rate the arithmetic alone would stop a variant. --cpu LEVEL (x86-64-v2,\n"
           "avx2, avx512, avx512_vnni) treats this CPU as a lesser one; --without FEATURE\n"
           "hides one feature.\n"
           "Exit codes: 0 good, 1 a check failed, 2 usage.\n";
}

std::vector<const OpInfo*> selected_ops(const Options& options) {
    std::vector<const OpInfo*> selected;
    std::vector<std::string_view> names;
    for (const OpInfo& op : all_ops()) {
        names.push_back(op.name);
        if (options.op.empty() || options.op == op.name) selected.push_back(&op);
    }
    if (selected.empty()) unknown("op", options.op, names);
    return selected;
}

const VariantBase& variant_named(const OpInfo& op, const std::string& name) {
    for (const VariantBase* variant : variants_of(op.name)) {
        if (variant->name == name) return *variant;
    }
    throw Error{unknown_variant(op.name, name)};
}

std::vector<const VariantBase*> selected_variants(const OpInfo& op, const std::string& name) {
    if (name.empty()) return variants_of(op.name);
    return {&variant_named(op, name)};
}

void require_shape(const OpInfo& op, const std::string& shape) {
    const std::string error = op.shape_error(shape);
    if (!error.empty()) {
        throw Error{
            fmt::format("{} {}. For example: {}", op.name, error, op.model_shapes().front())};
    }
}

}  // namespace steady::tool
