// The machine code of one variant: its run function and what that calls in this project, each
// instruction under the kernels' source line that it comes from, and what the innermost loops are
// made of. objdump does the decoding.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/tool/gpu_disasm.h"
#include "kernels/tool/program.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Instruction {
    std::uint64_t address = 0;
    std::string text;          // "vpdpbusd (%rax){1to16},%zmm1,%zmm0"
    std::uint64_t target = 0;  // of a jump or call, 0 for others
    std::size_t line = 0;      // in the listing
    bool in_loop = false;      // an innermost one
};

struct Loop {
    std::size_t first = 0, last = 0;  // instructions
};

struct Function {
    Symbol symbol;
    std::string name;                // demangled
    std::vector<std::string> lines;  // instructions and source lines
    std::vector<Instruction> instructions;
    std::vector<Loop> loops;  // innermost
};

// "  12ab:\tvpdpbusd …" → an instruction; false for source lines and headings.
bool parse_instruction(const std::string& line, Instruction& found) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos || colon == 0 || line[0] != ' ') return false;
    const std::size_t digit = line.find_first_not_of(' ');
    if (line.find_first_not_of("0123456789abcdef", digit) != colon) return false;
    found = {};
    found.address = std::stoull(line.substr(digit), nullptr, 16);
    found.text = line.substr(colon + 2);
    const std::string word = found.text.substr(0, found.text.find(' '));
    if (word != "call" && word != "callq" && word[0] != 'j') return true;
    const std::size_t operand = found.text.find_first_not_of(' ', word.size());
    if (operand == std::string::npos || std::isxdigit(found.text[operand]) == 0) return true;
    found.target = std::stoull(found.text.substr(operand), nullptr, 16);
    return true;
}

// Backward jumps span loops; those that span no other are the innermost.
void find_loops(Function& function) {
    std::vector<Instruction>& all = function.instructions;
    std::vector<Loop> loops;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].text[0] != 'j' || all[i].target == 0 || all[i].target > all[i].address) continue;
        const auto start = std::find_if(all.begin(), all.end(), [&](const Instruction& other) {
            return other.address == all[i].target;
        });
        if (start != all.end()) loops.push_back({static_cast<std::size_t>(start - all.begin()), i});
    }
    for (const Loop& loop : loops) {
        const bool innermost = std::none_of(loops.begin(), loops.end(), [&](const Loop& other) {
            const bool same = other.first == loop.first && other.last == loop.last;
            return !same && other.first >= loop.first && other.last <= loop.last;
        });
        if (!innermost) continue;
        function.loops.push_back(loop);
        for (std::size_t i = loop.first; i <= loop.last; ++i) all[i].in_loop = true;
    }
}

// Line `number` of a source file without its indentation; empty when it cannot be read.
std::string source_line(const std::string& path, std::size_t number) {
    static std::map<std::string, std::vector<std::string>> files;
    const auto [file, is_new] = files.try_emplace(path);
    if (is_new) {
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) file->second.push_back(line);
    }
    if (number == 0 || number > file->second.size()) return "";
    const std::string& line = file->second[number - 1];
    return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

// "… /kernels/base/x.h:59 (…)" → "kernels/base/x.h:59  the line"; empty for other text. objdump
// names the innermost place first and then what it was inlined into.
std::string place_in_kernels(const std::string& text) {
    const std::size_t root = text.find('/');
    const std::size_t inside = text.rfind("/kernels/");
    if (root == text.npos || inside == text.npos) return "";
    const std::size_t colon = text.find(':', inside);
    if (colon == text.npos || text.find_first_of(" \t", root) < colon) return "";
    const std::size_t digits = text.find_first_not_of("0123456789", colon + 1) - (colon + 1);
    const std::string number = text.substr(colon + 1, digits);
    if (number.empty() || number.size() > 9) return "";
    const std::string path = text.substr(root, colon - root);
    return fmt::format("{}:{}  {}", text.substr(inside + 1, colon - inside - 1), number,
                       source_line(path, std::stoul(number)));
}

Function disassemble(const Symbol& symbol) {
    Function function{
        .symbol = symbol, .name = symbol.name, .lines = {}, .instructions = {}, .loops = {}};
    const std::string text = output_of(
        {"objdump", "--disassemble", "--line-numbers", "--inlines", "--demangle",
         "--no-show-raw-insn", "--wide", fmt::format("--start-address={:#x}", symbol.address),
         fmt::format("--stop-address={:#x}", symbol.address + symbol.size), program_path()},
        "binutils");
    std::istringstream in(text);
    bool begun = false;
    std::string place;  // of the instructions to come
    std::string last_place;
    for (std::string line; std::getline(in, line);) {
        if (!begun) {
            begun = line.size() > 18 && line.back() == ':' && line[16] == ' ' && line[17] == '<';
            if (begun) function.name = line.substr(18, line.size() - 20);
            continue;
        }
        Instruction instruction;
        if (!parse_instruction(line, instruction)) {
            if (place.empty()) place = place_in_kernels(line);
            continue;
        }
        if (!place.empty() && place != last_place) function.lines.push_back(place);
        if (!place.empty()) last_place = std::exchange(place, "");
        instruction.line = function.lines.size();
        function.instructions.push_back(instruction);
        function.lines.push_back(line);
    }
    find_loops(function);
    return function;
}

// How many instructions of each kind lie in [first, last].
std::map<std::string, int> mix(const Function& function, std::size_t first, std::size_t last) {
    std::map<std::string, int> counts;
    for (std::size_t i = first; i <= last && i < function.instructions.size(); ++i) {
        const std::string& text = function.instructions[i].text;
        const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
        ++counts["all"];
        if (has("vpdp") || has("vpmadd")) ++counts["integer dot"];
        if (text.rfind("vf", 0) == 0 && has("m") && (has("add") || has("sub"))) ++counts["fma"];
        if (has("prefetch")) ++counts["prefetch"];
        if (text.rfind("call", 0) == 0) ++counts["call"];
        if (text[0] == 'j') ++counts["jump"];
        if (has("%rsp")) ++counts["stack"];
        if (has("zmm")) {
            ++counts["zmm"];
        } else if (has("ymm")) {
            ++counts["ymm"];
        } else if (has("xmm")) {
            ++counts["xmm"];
        }
    }
    return counts;
}

std::string mix_text(const std::map<std::string, int>& counts) {
    std::string text = fmt::format("{} instructions", counts.at("all"));
    for (const auto& [kind, n] : counts) {
        if (kind != "all") text += fmt::format(", {} {}", n, kind);
    }
    return text;
}

// The run function and, from there on, every function of this project that is called.
std::vector<Function> collect(const OpInfo& op, const VariantBase& variant) {
    const std::vector<Symbol> symbols = program_symbols();
    const auto at = [&](std::uint64_t address) {
        return std::find_if(symbols.begin(), symbols.end(),
                            [&](const Symbol& s) { return s.address == address; });
    };
    std::vector<std::uint64_t> waiting{op.code(variant) - load_offset()};
    std::set<std::uint64_t> seen(waiting.begin(), waiting.end());
    std::vector<Function> functions;
    while (!waiting.empty()) {
        const auto symbol = at(waiting.front());
        waiting.erase(waiting.begin());
        if (symbol == symbols.end()) continue;
        functions.push_back(disassemble(*symbol));
        for (const Instruction& instruction : functions.back().instructions) {
            const auto called = at(instruction.target);
            if (instruction.target == 0 || called == symbols.end()) continue;
            const bool ours = called->name.find("6steady") != std::string::npos;
            if (ours && seen.insert(called->address).second) waiting.push_back(called->address);
        }
    }
    if (functions.empty()) throw Error{"the variant's code was not found", kExitInternal};
    return functions;
}

Json to_json(const Function& function) {
    Json loops = Json::array();
    for (const Loop& loop : function.loops) {
        loops.push_back({{"address", function.instructions[loop.first].address},
                         {"mix", mix(function, loop.first, loop.last)}});
    }
    return {{"name", function.name},
            {"bytes", function.symbol.size},
            {"mix", mix(function, 0, function.instructions.size())},
            {"innermost_loops", loops},
            {"listing", function.lines}};
}

void print(const Function& function) {
    fmt::print("\n{}  ({} bytes, {})\n", function.name, function.symbol.size,
               mix_text(mix(function, 0, function.instructions.size())));
    for (const Loop& loop : function.loops) {
        fmt::print("  innermost loop at {:x}: {}\n", function.instructions[loop.first].address,
                   mix_text(mix(function, loop.first, loop.last)));
    }
    std::set<std::size_t> marked;
    for (const Instruction& instruction : function.instructions) {
        if (instruction.in_loop) marked.insert(instruction.line);
    }
    for (std::size_t i = 0; i < function.lines.size(); ++i) {
        fmt::print("{} {}\n", marked.contains(i) ? '>' : ' ', function.lines[i]);
    }
}

}  // namespace

int run_disasm(const Options& options) {
    const OpInfo& op = *selected_ops(options).front();
    const VariantBase& variant = variant_named(op, options.variant);
    if (variant.on_gpu()) return run_gpu_disasm(options, op, variant);
    if (options.compute != 0) {
        throw Error{fmt::format("--compute {}: {}/{} runs on the CPU; leave the option out",
                                options.compute, op.name, variant.name)};
    }
    std::vector<Function> functions = collect(op, variant);
    if (options.counts) {
        for (Function& function : functions) function.lines.clear();
    }
    if (!options.json) {
        fmt::print("{}/{}{}\n", op.name, variant.name,
                   options.counts ? "" : ": '>' marks innermost loops");
        for (const Function& function : functions) print(function);
        return kExitOk;
    }
    Json listed = Json::array();
    for (const Function& function : functions) listed.push_back(to_json(function));
    const Json document = {{"op", op.name}, {"variant", variant.name}, {"functions", listed}};
    fmt::print("{}\n", document.dump(1, ' ', false, Json::error_handler_t::replace));
    return kExitOk;
}

}  // namespace steady::tool
