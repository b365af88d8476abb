// libpqxx, as its library was compiled. Ubuntu 24.04 compiles it as C++17, in which its exceptions
// hold no source location; headers read as C++20 would expect one there.
#pragma once

#ifdef STEADY_PQXX_OF_CPP17
#include <source_location>
#include <version>
#pragma push_macro("__cpp_lib_source_location")
#undef __cpp_lib_source_location
#endif

#include <pqxx/pqxx>

#ifdef STEADY_PQXX_OF_CPP17
#pragma pop_macro("__cpp_lib_source_location")
#endif
