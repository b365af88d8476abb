// Which Steady this is. The version stands once, in the top CMakeLists.txt.
#pragma once

namespace steady {

// git's description of the source at build time ("1f3b0c5a2d", "v1.2-3-g1f3b0c5a2d-dirty"), or the
// version when it was built without git.
const char* steady_revision();

const char* steady_version();  // "0.1.0"
const char* steady_build();    // "Release, GNU 12.2.0, x86_64"

}  // namespace steady
