// objdump and llvm-mca, without a shell.
#include "kernels/tool/machine_code.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"
#include "kernels/tool/program.h"

namespace steady::tool {
namespace {

bool begins_with_any(const std::string& text, std::initializer_list<const char*> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const char* one) { return text.rfind(one, 0) == 0; });
}

// What GNU writes and LLVM does not read: comments, symbols, and targets as bare addresses.
std::string for_llvm(std::string text) {
    text = text.substr(0, text.find('#'));
    text = text.substr(0, text.find('<'));
    while (!text.empty() && text.back() == ' ') text.pop_back();
    const std::string word = text.substr(0, text.find(' '));
    if (begins_with_any(word, {"nop", "data16", "call", "ret", "cs", "xchg"})) return "";
    if (word[0] == 'j') return word + " 1b";
    return text;
}

// The number behind "LLVM version "; 0 when there is none.
int llvm_version(const std::string& program) {
    const std::string text = output_of({program, "--version"}, "llvm");
    const std::string sign = "LLVM version ";
    const std::size_t at = text.find(sign);
    int version = 0;
    if (at != std::string::npos) {
        std::from_chars(text.data() + at + sign.size(), text.data() + text.size(), version);
    }
    return version;
}

struct Model {
    const char* cpu;
    int since;  // LLVM's first version that knows it
};

// LLVM's name of the model that is nearest to this class of CPU.
Model model_of(const std::string& cpu_class) {
    const bool amd = cpu_class.rfind("amd", 0) == 0;
    if (amd && cpu_class.find("avx512") != std::string::npos) return {"znver4", 16};
    if (amd) return {"znver2", 9};
    if (cpu_class.find("amx") != std::string::npos) return {"sapphirerapids", 12};
    if (cpu_class.find("vnni") != std::string::npos) return {"icelake-server", 8};
    if (cpu_class.find("avx512") != std::string::npos) return {"skylake-avx512", 6};
    return {"haswell", 6};
}

}  // namespace

std::map<std::uint64_t, std::string> instructions_between(std::uint64_t first, std::uint64_t last) {
    const std::string text =
        output_of({"objdump", "--disassemble", "--no-show-raw-insn", "--wide",
                   fmt::format("--start-address={:#x}", first),
                   fmt::format("--stop-address={:#x}", last + 1), program_path()},
                  "binutils");
    std::map<std::uint64_t, std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(":\t");
        const std::size_t digit = line.find_first_not_of(' ');
        if (colon == std::string::npos || line[0] != ' ' ||
            line.find_first_not_of("0123456789abcdef", digit) != colon) {
            continue;
        }
        found[std::stoull(line.substr(digit), nullptr, 16)] = line.substr(colon + 2);
    }
    return found;
}

std::string kind_of(const std::string& instruction) {
    const std::string& text = instruction;
    const bool from_memory = text.find("),%") != std::string::npos;
    if (begins_with_any(text, {"vpdp", "vpmadd", "tdp"})) return "dot";
    if (begins_with_any(text, {"prefetch"})) return "prefetch";
    if (begins_with_any(text, {"vpshuf", "vperm", "vpunpck", "vpalign", "vpbroadcast", "vbroadcast",
                               "vinsert", "vextract", "valign", "vshuf", "vphadd", "vhadd"})) {
        return "shuffle";
    }
    if (begins_with_any(text, {"vcvt", "vf", "vmul", "vadd", "vsub", "vdiv", "vpmov", "vmax"})) {
        return "float";
    }
    if (begins_with_any(text, {"vmov", "tileload"}) && from_memory) return "load";
    if (begins_with_any(text, {"vp", "vxor", "vand", "vor"})) return "logic";
    return "other";
}

StaticModel::StaticModel() {
    const Model model = model_of(cpu::class_name());
    for (int version = 25; version >= model.since; --version) {
        const std::string program = fmt::format("llvm-mca-{}", version);
        if (!found_on_path(program).empty()) program_ = program;
        if (!program_.empty()) break;
    }
    if (program_.empty() && !found_on_path("llvm-mca").empty()) program_ = "llvm-mca";
    cpu_ = model.cpu;
    if (program_.empty()) {
        why_not_ = "llvm-mca is not installed; install llvm";
    } else if (const int version = llvm_version(program_); version < model.since) {
        why_not_ = fmt::format("{} is of LLVM {}, and {} needs LLVM {}; install llvm-{}", program_,
                               version, cpu_, model.since, model.since);
    }
}

std::optional<double> StaticModel::cycles(const std::vector<std::string>& instructions) const {
    constexpr int kPasses = 100;
    std::string code;
    for (const std::string& each : instructions) {
        if (const std::string line = for_llvm(each); !line.empty()) code += line + "\n";
    }
    if (code.empty()) return 0;
    const auto path =
        std::filesystem::temp_directory_path() / fmt::format("steady-mca-{}.s", getpid());
    std::ofstream(path) << "1:\n" << code;
    std::optional<double> found;
    try {
        const std::string text =
            output_of({program_, "-mcpu=" + cpu_, fmt::format("-iterations={}", kPasses),
                       "-instruction-info=0", "-resource-pressure=0", path.string()},
                      "llvm");
        const std::string sign = "Total Cycles:";
        if (const std::size_t at = text.find(sign); at != std::string::npos) {
            found = std::stod(text.substr(at + sign.size())) / kPasses;
        }
    } catch (const Error&) {
        // An instruction that the model does not know.
    }
    std::filesystem::remove(path);
    return found;
}

}  // namespace steady::tool
