// The machine code of a GPU variant: the kernels that its run function can launch, what each needs,
// how it loads, and its listing. Which kernels those are is read from the host's code; CUDA's
// nvdisasm or cuobjdump makes the listing.
#include "kernels/tool/gpu_disasm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/tool/machine_code.h"
#include "kernels/tool/program.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kToolkit = "/usr/local/cuda/bin";

// Addresses that an instruction names: the target of a call or jump, and what objdump writes behind
// an address that is relative to the instruction: "lea 0x1f3c(%rip),%rdi  # 5a3f0 <symbol>".
std::vector<std::uint64_t> addresses_in(const std::string& text) {
    std::vector<std::uint64_t> found;
    const auto number_at = [&](std::size_t at) {
        const std::size_t digit = text.find_first_not_of(' ', at);
        if (digit == std::string::npos || std::isxdigit(text[digit]) == 0) return;
        found.push_back(std::strtoull(text.c_str() + digit, nullptr, 16));
    };
    if (text.rfind("call", 0) == 0 || text[0] == 'j')
        number_at(std::min(text.size(), text.find(' ')));
    if (const std::size_t mark = text.find('#'); mark != std::string::npos) number_at(mark + 1);
    return found;
}

// This program's host code, read once.
struct HostCode {
    std::map<std::uint64_t, Symbol> symbols;
    std::map<std::uint64_t, std::string> instructions;

    HostCode() {
        for (const Symbol& symbol : program_symbols()) symbols[symbol.address] = symbol;
        const Symbol& last = symbols.rbegin()->second;
        instructions = instructions_between(symbols.begin()->first, last.address + last.size);
    }
};

// Functions of this project that a function names by address, from there on.
std::set<std::string> reachable(std::uint64_t start) {
    static const HostCode code;
    const auto& symbols = code.symbols;
    const auto& all = code.instructions;
    std::set<std::string> names;
    std::set<std::uint64_t> seen{start};
    std::vector<std::uint64_t> waiting{start};
    while (!waiting.empty()) {
        const auto symbol = symbols.find(waiting.back());
        waiting.pop_back();
        if (symbol == symbols.end()) continue;
        names.insert(demangled(symbol->second.name));
        const std::uint64_t end = symbol->first + symbol->second.size;
        for (auto at = all.lower_bound(symbol->first); at != all.end() && at->first < end; ++at) {
            for (const std::uint64_t address : addresses_in(at->second)) {
                const auto named = symbols.find(address);
                const bool ours = named != symbols.end() &&
                                  named->second.name.find("6steady") != std::string::npos;
                if (ours && seen.insert(address).second) waiting.push_back(address);
            }
        }
    }
    return names;
}

std::string listing_of(const GpuKernel& kernel, const std::string& image) {
    const std::string nvdisasm = found_on_path("nvdisasm", kToolkit);
    const std::string cuobjdump = found_on_path("cuobjdump", kToolkit);
    if (nvdisasm.empty() && cuobjdump.empty()) {
        throw Error{fmt::format(
            "disasm: nvdisasm or cuobjdump lists a GPU's machine code, and neither is on the PATH "
            "or "
            "in {}; install CUDA's package of one of them, or add --counts, which needs neither",
            kToolkit)};
    }
    const auto path =
        std::filesystem::temp_directory_path() / fmt::format("steady-sass-{}.cubin", getpid());
    std::ofstream(path, std::ios::binary) << image;
    std::string text;
    try {
        text = nvdisasm.empty()
                   ? output_of({cuobjdump, "-sass", "-fun", kernel.mangled, path.string()}, "CUDA")
                   : output_of({nvdisasm, "-c", "-g", "-fun", std::to_string(kernel.symbol),
                                path.string()},
                               "CUDA");
    } catch (...) {
        std::filesystem::remove(path);
        throw;
    }
    std::filesystem::remove(path);
    return text;
}

std::string widths_text(const std::array<int, 5>& counts) {
    std::string text;
    for (std::size_t i = counts.size(); i-- > 0;) {
        if (counts[i] == 0) continue;
        text += fmt::format("{}{} of {} bytes", text.empty() ? "" : ", ", counts[i], kWidths[i]);
    }
    return text.empty() ? "none" : text;
}

void print(const GpuKernel& kernel, const std::string& listing) {
    const GpuCounts& counts = kernel.counts;
    fmt::print("\n{}\n", short_name(kernel.name));
    fmt::print(
        "  {} instructions; {} registers a thread, {} bytes of shared memory declared, {} bytes "
        "of stack\n",
        counts.instructions, kernel.registers, kernel.shared_bytes, kernel.stack_bytes);
    fmt::print("  loads from global memory: {}; copies to shared memory: {}\n",
               widths_text(counts.loads), widths_text(counts.copies));
    fmt::print("  local memory: {} loads, {} stores\n", counts.local_loads, counts.local_stores);
    std::istringstream lines(listing);
    for (std::string line; std::getline(lines, line);) {
        const auto has = [&](const char* part) { return line.find(part) != std::string::npos; };
        const bool local = has(" LDL") || has(" STL") || has("\tLDL") || has("\tSTL");
        const bool wide = has("LDG") && has(".128");
        fmt::print("{} {}\n", local ? '!' : wide ? '>' : ' ', line);
    }
}

Json widths_json(const std::array<int, 5>& counts) {
    Json out = Json::object();
    for (std::size_t i = 0; i < counts.size(); ++i) out[std::to_string(kWidths[i])] = counts[i];
    return out;
}

Json to_json(const GpuKernel& kernel, const Json& listing) {
    const GpuCounts& counts = kernel.counts;
    return {{"name", kernel.name},
            {"compute", kernel.compute},
            {"instructions", counts.instructions},
            {"registers", kernel.registers},
            {"shared_bytes", kernel.shared_bytes},
            {"stack_bytes", kernel.stack_bytes},
            {"loads_by_bytes", widths_json(counts.loads)},
            {"copies_by_bytes", widths_json(counts.copies)},
            {"local_loads", counts.local_loads},
            {"local_stores", counts.local_stores},
            {"listing", listing}};
}

// Of the architecture that was asked for, else of the newest.
std::vector<GpuKernel> of_one_architecture(const std::vector<GpuKernel>& all, int asked) {
    std::set<int> there;
    for (const GpuKernel& kernel : all) there.insert(kernel.compute);
    const int chosen = asked != 0 ? asked : there.empty() ? 0 : *there.rbegin();
    if (asked != 0 && !there.contains(asked)) {
        throw Error{fmt::format("--compute {}: this variant is compiled for {}; name one of them",
                                asked, fmt::join(there, ", "))};
    }
    std::vector<GpuKernel> found;
    for (const GpuKernel& kernel : all) {
        if (kernel.compute == chosen) found.push_back(kernel);
    }
    return found;
}

}  // namespace

std::string short_name(std::string name) {
    for (const std::string shared : {"void ", "steady::", "cuda::", "(anonymous namespace)::"}) {
        for (std::size_t at = name.find(shared); at != std::string::npos; at = name.find(shared)) {
            name.erase(at, shared.size());
        }
    }
    // A template's arguments may hold parentheses, "<(Form)2>"; the parameters stand behind them.
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
        if (name[i] == '(' && depth == 0) return name.substr(0, i);
    }
    return name;
}

VariantKernels kernels_of(const OpInfo& op, const VariantBase& variant, const GpuCode& code) {
    VariantKernels found;
    const std::set<std::string> names = reachable(op.code(variant) - load_offset());
    std::set<std::pair<int, std::string>> seen;  // a template may stand in several files
    for (const GpuKernel& kernel : code.kernels) {
        if (names.contains(kernel.name) && seen.insert({kernel.compute, kernel.name}).second) {
            found.kernels.push_back(kernel);
        }
    }
    found.launches_ptx = std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name.find("launch_ptx(") != std::string::npos;
    });
    return found;
}

int run_gpu_disasm(const Options& options, const OpInfo& op, const VariantBase& variant) {
    const GpuCode code = gpu_code(program_bytes());
    const VariantKernels all = kernels_of(op, variant, code);
    const std::vector<GpuKernel> kernels = of_one_architecture(all.kernels, options.compute);
    if (kernels.empty() && !all.launches_ptx) {
        throw Error{fmt::format("{}/{}: no machine code of its kernels was found in this program",
                                op.name, variant.name),
                    kExitInternal};
    }
    const std::string ptx = all.launches_ptx
                                ? fmt::format(
                                      "kernels that come as PTX are compiled when they run and "
                                      "are not listed; ptxas -v -arch=sm_90a "
                                      "kernels/{}/triton_*.ptx compiles them here",
                                      op.name)
                                : "";
    std::vector<std::string> listings;
    for (const GpuKernel& kernel : kernels) {
        listings.push_back(options.counts ? "" : listing_of(kernel, code.images[kernel.image]));
    }
    if (options.json) {
        Json listed = Json::array();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            listed.push_back(to_json(kernels[i], options.counts ? Json() : Json(listings[i])));
        }
        const Json document = {
            {"op", op.name}, {"variant", variant.name}, {"kernels", listed}, {"ptx", ptx}};
        fmt::print("{}\n", document.dump(1, ' ', false, Json::error_handler_t::replace));
        return kExitOk;
    }
    const int compute = kernels.empty() ? 0 : kernels.front().compute;
    fmt::print("{}/{}: {} kernels that it can launch, on compute capability {}.{}{}\n", op.name,
               variant.name, kernels.size(), compute / 10, compute % 10,
               options.counts ? "" : "; '>' marks loads of 16 bytes, '!' local memory");
    for (std::size_t i = 0; i < kernels.size(); ++i) print(kernels[i], listings[i]);
    if (!ptx.empty()) fmt::print("\n{}\n", ptx);
    return kExitOk;
}

}  // namespace steady::tool
