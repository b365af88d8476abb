// The revision comes from the build (definition STEADY_REVISION), since a binary cannot ask git.
#include "engine/build_info.h"

#ifndef STEADY_REVISION
#define STEADY_REVISION "unknown"
#endif

namespace steady {

std::string build_revision() { return STEADY_REVISION; }

}  // namespace steady
