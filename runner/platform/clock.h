// Time as the runner needs it: a clock that also runs while the machine sleeps (a lease does not
// pause with the laptop), and the wall clock as text.
#pragma once

#include <string>

namespace steady {

// Seconds since boot, suspend included. Never goes back.
double boottime_s();

// "2026-01-31T12:34:56Z"
std::string utc_now();

}  // namespace steady
