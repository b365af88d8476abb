// Which sources this program was built from, as the build was told.
#pragma once

#include <string>

namespace steady {

// A revision, or "unknown".
std::string build_revision();

}  // namespace steady
