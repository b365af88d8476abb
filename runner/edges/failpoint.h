// Named places where a test build can die: STEADY_FAIL=name:n ends the process, as kill -9 would,
// at the n-th passage. In other builds there is nothing.
#pragma once

namespace steady {

#ifdef STEADY_FAILPOINTS
void failpoint(const char* name);
#else
inline void failpoint(const char*) {}
#endif

}  // namespace steady
