// ELF's symbol table is read by hand: thirty lines are less than a library.
#include "kernels/tool/program.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/base/self_path.h"
#include "kernels/cases/case.h"

extern char** environ;

namespace steady::tool {
namespace {

// The T that starts `at` bytes into the file.
template <class T>
T read_at(const std::vector<char>& bytes, std::uint64_t at) {
    T value{};
    if (at + sizeof value > bytes.size()) throw Error{"this program's file is cut short"};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

int note_first(dl_phdr_info* info, std::size_t /*size*/, void* data) {
    *static_cast<std::uint64_t*>(data) = info->dlpi_addr;
    return 1;  // the first object is the program itself
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 1 << 16> part{};
    for (;;) {
        const ssize_t n = read(fd, part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return text;
        text.append(part.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace

std::string program_path() { return self_path(); }

std::vector<char> program_bytes() {
    std::ifstream file(program_path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string program_hash() {
    const std::vector<char> bytes = program_bytes();
    return fmt::format("{:016x}",
                       hash_bytes(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()));
}

std::vector<Symbol> program_symbols() {
    const std::vector<char> bytes = program_bytes();
    const auto header = read_at<Elf64_Ehdr>(bytes, 0);
    std::vector<Symbol> symbols;
    for (int i = 0; i < header.e_shnum; ++i) {
        const auto at = [&](std::uint32_t index) {
            return header.e_shoff + static_cast<std::uint64_t>(index) * header.e_shentsize;
        };
        const auto table = read_at<Elf64_Shdr>(bytes, at(static_cast<std::uint32_t>(i)));
        if (table.sh_type != SHT_SYMTAB) continue;
        const auto names = read_at<Elf64_Shdr>(bytes, at(table.sh_link));
        for (std::uint64_t s = 0; s < table.sh_size; s += sizeof(Elf64_Sym)) {
            const auto symbol = read_at<Elf64_Sym>(bytes, table.sh_offset + s);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) continue;
            symbols.push_back(
                {symbol.st_value, symbol.st_size, bytes.data() + names.sh_offset + symbol.st_name});
        }
    }
    if (symbols.empty()) {
        throw Error{"this program has no symbol table; use one that is not stripped"};
    }
    std::sort(symbols.begin(), symbols.end(),
              [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
    return symbols;
}

std::uint64_t load_offset() {
    std::uint64_t offset = 0;
    dl_iterate_phdr(note_first, &offset);
    return offset;
}

std::string found_on_path(const std::string& name, const std::string& also) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
    }
    const std::string last = also + "/" + name;
    return !also.empty() && access(last.c_str(), X_OK) == 0 ? last : "";
}

std::string output_of(const std::vector<std::string>& words, const std::string& package) {
    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw Error{"cannot make a pipe", kExitInternal};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    std::vector<std::string> copies = words;
    std::vector<char*> arguments;
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int problem =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (problem != 0) {
        close(pipe_ends[0]);
        throw Error{fmt::format("cannot start {}: {}; install {}", words[0], std::strerror(problem),
                                package)};
    }
    std::string text = read_all(pipe_ends[0]);
    close(pipe_ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw Error{fmt::format("{} failed (status {})", words[0], status), kExitInternal};
    }
    return text;
}

}  // namespace steady::tool
