// Names of tensor types that GGUF files may hold but this engine does not compute with, so that an
// error can say "iq4_xs" instead of 23.
#pragma once

#include <cstdint>
#include <string>

namespace steady {

std::string foreign_type_name(std::uint32_t number);  // "23 (iq4_xs)", or "99" if it is unknown
std::string readable_type_names();                    // "f32, f16, …"

}  // namespace steady
