// What a result depends on and the samples do not show: the machine, its settings, the programs and
// the model. Two epochs of one experiment must have the same; two experiments are compared by it.
#pragma once

#include <string>

#include "runner/record/record.h"

namespace steady {

// cpu_model, cpu_flags_sha256, cpus, kernel, memory_bytes, governor, turbo, smt, thp, hypervisor,
// os. Only facts that are constant until somebody changes the machine; "unknown" where it cannot be
// read.
Fingerprint machine_fingerprint();

// Adds <name>_sha256 and <name>_bytes of a file, e.g. ("engine", path), ("model", path).
void add_file(Fingerprint& fingerprint, const std::string& name, const std::string& path);

}  // namespace steady
