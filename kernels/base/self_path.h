// Where the program that runs lies.
#pragma once

#include <string>

namespace steady {

// Absolute path of this program's file. In a bundle (bundle/README.md) the system runs the bundle's
// loader, whose first argument is the path of the small program that started it: that one counts.
std::string self_path();

}  // namespace steady
