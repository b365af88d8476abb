// The text of an archive: JSON with compressed samples, and every check that needs no database. A
// damaged, forged or oversized file is refused with one line that names the place.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace steady::archive {

constexpr const char* kFormat = "steady archive v1";

struct Experiment {
    std::string id;
    nlohmann::json content;  // see archive.cpp
    std::string entry;
    std::string sha256{};  // over both, as the text says; read only
};

std::string to_text(const std::vector<Experiment>& experiments);

// Throws Error (exit 2).
std::vector<Experiment> from_text(const std::string& text);

}  // namespace steady::archive
