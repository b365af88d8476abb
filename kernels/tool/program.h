// This program as a file: where its functions lie, and another program run on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steady::tool {

// Path of the running program. Error when it cannot be told.
std::string program_path();

// Its bytes.
std::vector<char> program_bytes();

// A hash of the program's bytes as 16 hexadecimal digits: any change of source, compiler or flags
// changes it.
std::string program_hash();

// A function of this program: addresses as in the file, not as loaded.
struct Symbol {
    std::uint64_t address = 0, size = 0;
    std::string name;  // mangled
};

// The functions of this program by address. Error when the file has no symbol table (stripped).
std::vector<Symbol> program_symbols();

// How far the program was moved when it was loaded: loaded address = file address + this.
std::uint64_t load_offset();

// Where a program lies: on the path, else in folder `also`. Empty: in neither.
std::string found_on_path(const std::string& name, const std::string& also = "");

// Standard output of a program that is found on the path and started without a shell. Error with
// what to install when it is missing, and with its exit code when it fails.
std::string output_of(const std::vector<std::string>& words, const std::string& package);

}  // namespace steady::tool
