// SHA-256 as text: names of questions, files and tokens.
#pragma once

#include <string>
#include <string_view>

namespace steady {

// Lower-case hex.
std::string sha256_hex(std::string_view bytes);

}  // namespace steady
