// The CPU class of a run: vendor, family and best instruction set, the unit in which verdicts
// generalise and defaults are chosen, written as cpu::class_name() of the engine writes it:
// intel-6-amx, amd-26-avx512_vnni, … Of older records the family is not known: intel-amx.
#pragma once

#include <string>

#include "runner/record/record.h"

namespace steady {

// flags: words of /proc/cpuinfo, separated by spaces.
std::string cpu_class_of(const std::string& vendor_id, const std::string& family,
                         const std::string& flags);

// Whether both name one class; a record that does not know the family is of every family's.
bool same_cpu_class(const std::string& one, const std::string& other);

// As the run stored it; for machines that measured before runs stored it, by the hash of their
// flags. "unknown" when neither tells.
std::string cpu_class(const Fingerprint& fingerprint);
std::string cpu_class(const Record& record);  // of its last attempt

}  // namespace steady
