// Which Steady this is: git's description of the source at build time ("1f3b0c5a2d",
// "v1.2-3-g1f3b0c5a2d-dirty"), or the version when it was built without git.
#pragma once

namespace steady {

const char* steady_revision();

}  // namespace steady
