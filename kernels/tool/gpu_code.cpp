// nvcc puts machine code into a program as "fat" containers: a header, then an ELF file per
// architecture. Both forms are undocumented; what is read here was compared with ptxas's own report
// (tests/kernels/gpu_code_test.cpp) for CUDA 13.
#include "kernels/tool/gpu_code.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "kernels/base/error.h"

namespace steady::tool {
namespace {

constexpr std::uint32_t kContainer = 0xBA55ED50;
constexpr std::uint16_t kMachineCode = 2;  // 1 is PTX
constexpr std::uint64_t kCompressed = 0x2000 | 0x8000;
constexpr std::size_t kInstructionBytes = 16;
// Hopper's own part of each block's shared memory, counted in what a kernel declares.
constexpr std::int64_t kReservedShared = 1024;

template <class T>
T read_at(std::string_view bytes, std::uint64_t at) {
    T value{};
    if (at > bytes.size() || sizeof value > bytes.size() - at) {
        throw Error{"the GPU's machine code is cut short", kExitInternal};
    }
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

std::string_view part_of(std::string_view bytes, std::uint64_t at, std::uint64_t n) {
    if (at > bytes.size() || n > bytes.size() - at) {
        throw Error{"the GPU's machine code is cut short", kExitInternal};
    }
    return bytes.substr(at, n);
}

std::string text_at(std::string_view bytes, std::uint64_t at) {
    const std::string_view rest = part_of(bytes, at, bytes.size() - std::min(at, bytes.size()));
    return std::string(rest.substr(0, rest.find('\0')));
}

struct Section {
    std::string name;
    Elf64_Shdr header;
};

class Image {
public:
    explicit Image(std::string_view bytes) : bytes_(bytes) {
        const auto head = read_at<Elf64_Ehdr>(bytes, 0);
        const auto header = [&](std::uint64_t i) {
            return read_at<Elf64_Shdr>(bytes, head.e_shoff + i * head.e_shentsize);
        };
        const Elf64_Shdr names = header(head.e_shstrndx);
        for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
            const Elf64_Shdr one = header(i);
            sections_.push_back({text_at(bytes, names.sh_offset + one.sh_name), one});
        }
        // Since CUDA 13 in bits 8 to 15, before in the lowest eight.
        const std::uint32_t flags = head.e_flags;
        compute_ =
            static_cast<int>((head.e_ident[EI_ABIVERSION] >= 8 ? flags >> 8U : flags) & 0xFFU);
        read_info();
    }

    std::vector<GpuKernel> kernels(std::size_t index) const {
        std::vector<GpuKernel> found;
        for (const Section& section : sections_) {
            constexpr std::string_view kText = ".text.";
            if (section.name.rfind(kText, 0) != 0) continue;
            GpuKernel kernel;
            kernel.mangled = section.name.substr(kText.size());
            const auto registers = registers_.find(kernel.mangled);
            if (registers == registers_.end()) continue;  // a function that kernels call
            kernel.name = demangled(kernel.mangled);
            kernel.compute = compute_;
            kernel.registers = static_cast<int>(registers->second);
            kernel.shared_bytes = shared_of(kernel.mangled);
            if (const auto stack = stack_.find(kernel.mangled); stack != stack_.end()) {
                kernel.stack_bytes = stack->second;
            }
            const auto code = part_of(bytes_, section.header.sh_offset, section.header.sh_size);
            kernel.counts = count_instructions(code.data(), code.size());
            kernel.image = index;
            kernel.symbol = symbols_.at(kernel.mangled);
            found.push_back(std::move(kernel));
        }
        return found;
    }

private:
    const Section* section(std::string_view name) const {
        for (const Section& one : sections_) {
            if (one.name == name) return &one;
        }
        return nullptr;
    }

    std::int64_t shared_of(const std::string& kernel) const {
        const Section* shared = section(".nv.shared." + kernel);
        if (shared == nullptr) return 0;
        const auto bytes = static_cast<std::int64_t>(shared->header.sh_size);
        return compute_ >= 90 && bytes >= kReservedShared ? bytes - kReservedShared : bytes;
    }

    // .nv.info lists attributes: form, kind, size, then for these two a symbol and a number.
    void read_info() {
        constexpr std::uint8_t kSized = 4, kRegisters = 0x2F, kStack = 0x12;
        const Section* table = section(".symtab");
        const Section* names = section(".strtab");
        const Section* info = section(".nv.info");
        if (table == nullptr || names == nullptr || info == nullptr) {
            throw Error{"the GPU's machine code has no table of its kernels", kExitInternal};
        }
        std::map<std::uint32_t, std::string> symbols;
        const std::uint64_t n = table->header.sh_size / sizeof(Elf64_Sym);
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto symbol =
                read_at<Elf64_Sym>(bytes_, table->header.sh_offset + i * sizeof(Elf64_Sym));
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
            const auto index = static_cast<std::uint32_t>(i);
            symbols[index] = text_at(bytes_, names->header.sh_offset + symbol.st_name);
            symbols_[symbols[index]] = index;
        }
        const std::string_view all = part_of(bytes_, info->header.sh_offset, info->header.sh_size);
        for (std::uint64_t at = 0; at + 4 <= all.size();) {
            const auto form = read_at<std::uint8_t>(all, at);
            const auto kind = read_at<std::uint8_t>(all, at + 1);
            const auto size = read_at<std::uint16_t>(all, at + 2);
            at += 4;
            if (form != kSized) continue;
            if (size == 8 && (kind == kRegisters || kind == kStack)) {
                const auto symbol = symbols.find(read_at<std::uint32_t>(all, at));
                const auto value = read_at<std::uint32_t>(all, at + 4);
                if (symbol != symbols.end()) {
                    (kind == kRegisters ? registers_ : stack_)[symbol->second] = value;
                }
            }
            at += size;
        }
    }

    std::string_view bytes_;
    int compute_ = 0;
    std::vector<Section> sections_;
    std::map<std::string, std::uint32_t> symbols_;
    std::map<std::string, std::uint32_t> registers_, stack_;
};

struct ContainerHeader {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;
};
struct EntryHeader {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;
    std::uint32_t compressed_bytes, options;
    std::uint16_t minor, major;
    std::uint32_t compute, name, name_bytes;
    std::uint64_t flags;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(EntryHeader) == 48);

// The machine codes of one container; where it ends.
std::uint64_t read_container(std::string_view file, std::uint64_t at, GpuCode& out) {
    const auto head = read_at<ContainerHeader>(file, at);
    std::uint64_t entry = at + head.header_bytes;
    const std::uint64_t end = entry + head.bytes;
    while (entry < end) {
        const auto one = read_at<EntryHeader>(file, entry);
        const std::string_view body = part_of(file, entry + one.header_bytes, one.bytes);
        if (one.kind == kMachineCode) {
            if ((one.flags & kCompressed) != 0) {
                throw Error{
                    "the GPU's machine code in this program is compressed; build with "
                    "nvcc's --no-compress"};
            }
            out.images.emplace_back(body);
        }
        entry += one.header_bytes + one.bytes;
    }
    return end;
}

bool is_machine_code(std::string_view file) {
    constexpr std::uint16_t kCuda = 190;
    return file.size() >= sizeof(Elf64_Ehdr) && file.rfind(ELFMAG, 0) == 0 &&
           read_at<Elf64_Ehdr>(file, 0).e_machine == kCuda;
}

}  // namespace

GpuCounts count_instructions(const char* code, std::size_t bytes) {
    // The lowest nine bits of an instruction are its operation, whatever its operands are; bits 73
    // to 75 are the width of one that touches memory.
    constexpr std::uint64_t kNothing = 0x118, kLoad = 0x181, kCopy = 0x1AE, kLocalLoad = 0x183,
                            kLocalStore = 0x187;
    constexpr std::array<int, 8> kWidthOf = {0, 0, 1, 1, 2, 3, 4, 4};
    GpuCounts counts;
    for (std::size_t at = 0; at + kInstructionBytes <= bytes; at += kInstructionBytes) {
        std::uint64_t low = 0, high = 0;
        std::memcpy(&low, code + at, sizeof low);
        std::memcpy(&high, code + at + sizeof low, sizeof high);
        const std::uint64_t operation = low & 0x1FFU;
        const auto width = static_cast<std::size_t>(kWidthOf[(high >> 9U) & 7U]);
        if (operation != kNothing) ++counts.instructions;
        if (operation == kLoad) ++counts.loads[width];
        if (operation == kCopy) ++counts.copies[width];
        if (operation == kLocalLoad) ++counts.local_loads;
        if (operation == kLocalStore) ++counts.local_stores;
    }
    return counts;
}

std::string demangled(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string found = status == 0 && text != nullptr ? text : mangled;
    std::free(text);
    return found;
}

GpuCode gpu_code(const std::vector<char>& file) {
    const std::string_view all(file.data(), file.size());
    GpuCode code;
    if (is_machine_code(all)) {
        code.images.emplace_back(all);
    } else {
        std::string magic(sizeof kContainer, '\0');
        std::memcpy(magic.data(), &kContainer, sizeof kContainer);
        // Containers begin at multiples of eight; the same bytes elsewhere are constants in code.
        for (std::uint64_t at = all.find(magic); at != std::string_view::npos;
             at = all.find(magic, at)) {
            const bool begins = at % 8 == 0 && read_at<ContainerHeader>(all, at).version == 1 &&
                                read_at<ContainerHeader>(all, at).header_bytes == 16;
            at = begins ? read_container(all, at, code) : at + 1;
        }
    }
    for (std::size_t i = 0; i < code.images.size(); ++i) {
        const Image image(code.images[i]);
        for (GpuKernel& kernel : image.kernels(i)) code.kernels.push_back(std::move(kernel));
    }
    return code;
}

}  // namespace steady::tool
