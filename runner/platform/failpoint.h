// Failpoints of test builds: STEADY_FAIL=name:n ends the process at the n-th passage, as kill -9
// would. Other builds contain none.
#pragma once

namespace steady {

#ifdef STEADY_FAILPOINTS
void failpoint(const char* name);
#else
inline void failpoint(const char*) {}
#endif

}  // namespace steady
