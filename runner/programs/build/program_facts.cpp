// The loader itself is asked (`ld.so --list`), since only it knows run paths, caches and overrides.
// The program is not run, but its file is mapped: hence the confinement.
#include "runner/programs/build/program_facts.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"
#include "runner/platform/files.h"
#include "runner/platform/process.h"
#include "runner/platform/tools.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

// Only plain files: what a program names as its library may be a device without an end.
std::string hash_of(const std::string& path, std::uint64_t* bytes = nullptr) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    if (bytes != nullptr) *bytes = static_cast<std::uint64_t>(info.st_size);
    return sha256_hex_of(fd.get(), path);
}

std::string first_bytes(const std::string& path, std::size_t n) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    std::string bytes(n, '\0');
    const ssize_t got = fd ? ::pread(fd.get(), bytes.data(), n, 0) : 0;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
}

// The loader that a 64-bit ELF file names, when it is one of the system's; empty: it needs none.
std::string loader_of(const std::string& path, const std::string& head) {
    Elf64_Ehdr header{};
    if (head.size() < sizeof header || head[EI_CLASS] != ELFCLASS64) return {};
    std::memcpy(&header, head.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        const std::size_t at = header.e_phoff + std::size_t{i} * header.e_phentsize;
        if (at + sizeof part > head.size()) break;
        std::memcpy(&part, head.data() + at, sizeof part);
        if (part.p_type != PT_INTERP || part.p_offset + part.p_filesz > head.size()) continue;
        const std::string named(head.data() + part.p_offset);
        std::error_code error;
        const std::string real = fs::canonical(named, error).string();
        if (!error && (real.starts_with("/usr/lib") || real.starts_with("/lib"))) return named;
        throw Error(fmt::format("{}: its loader {} is none of the system's", path, named));
    }
    return {};
}

// "\tlibc.so.6 => /lib/…/libc.so.6 (0x…)", "\t/lib64/ld-linux… (0x…)"
void take_line(const std::string& line, std::map<std::string, std::string>& libraries) {
    std::istringstream words(line);
    std::string name, arrow, path;
    words >> name >> arrow >> path;
    if (arrow != "=>") path = name;
    if (!path.empty() && path[0] == '/') libraries[path] = hash_of(path);
}

void list_libraries(ProgramFacts& facts, const std::string& loader, const ConfinedStart& start,
                    const std::string& library_path) {
    ChildOptions options;
    options.argv = start.prefix;
    options.tree = start.tree;
    options.argv.push_back(loader);
    if (!library_path.empty()) {
        options.argv.insert(options.argv.end(), {"--library-path", library_path});
    }
    options.argv.insert(options.argv.end(), {"--list", facts.path});
    options.limits = {};
    const ChildEnd end = run_child(options, 30);
    if (!end.ok()) {
        facts.unknown = end.describe();
        return;
    }
    std::istringstream lines(end.out);
    for (std::string line; std::getline(lines, line);) take_line(line, facts.libraries);
}

ProgramFacts facts_of(const std::string& path, const ConfinedStart& start,
                      const std::string& library_path, int scripts_left) {
    ProgramFacts facts;
    facts.path = path;
    facts.sha256 = hash_of(path, &facts.bytes);
    if (facts.sha256.empty()) throw Error(fmt::format("cannot read the program {}", path));
    constexpr std::size_t kHead = 65536;
    const std::string head = first_bytes(path, kHead);
    try {
        if (head.starts_with("#!")) {  // a script: its interpreter runs
            std::istringstream words(head.substr(2, head.find('\n') - 2));
            std::string interpreter, argument;
            words >> interpreter >> argument;
            if (fs::path(interpreter).filename() == "env") {
                interpreter = find_tool(argument).value_or(interpreter);
            }
            if (scripts_left == 0) throw Error(path + ": scripts that interpret scripts");
            const ProgramFacts behind =
                facts_of(interpreter, start, library_path, scripts_left - 1);
            facts.libraries = behind.libraries;
            facts.libraries[interpreter] = behind.sha256;
            facts.unknown = behind.unknown;
        } else if (const std::string loader = loader_of(path, head); !loader.empty()) {
            list_libraries(facts, loader, start, library_path);
        }
    } catch (const Error& error) {
        facts.unknown = error.what();
    }
    return facts;
}

}  // namespace

ProgramFacts program_facts(const std::string& path, const ConfinedStart& start,
                           const std::string& library_path) {
    return facts_of(path, start, library_path, 4);
}

void add_program(Fingerprint& fingerprint, const std::string& name, const ProgramFacts& facts) {
    fingerprint[name + "_sha256"] = facts.sha256;
    fingerprint[name + "_bytes"] = std::to_string(facts.bytes);
    std::string names, all;
    for (const auto& [path, hash] : facts.libraries) {
        names += (names.empty() ? "" : " ") + fs::path(path).filename().string();
        all += path + " " + hash + "\n";
    }
    if (!facts.unknown.empty()) names = "unknown: " + facts.unknown;
    fingerprint[name + "_libraries"] = names;
    fingerprint[name + "_libraries_sha256"] = facts.unknown.empty() ? sha256_hex(all) : "unknown";
}

}  // namespace steady
