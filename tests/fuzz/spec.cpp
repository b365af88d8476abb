// Any bytes as an experiment file. What is accepted is stored as canonical text, which must be
// accepted again and mean the same.
#include "runner/spec/spec.h"

#include <cstdlib>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const steady::SpecResult result = steady::parse_spec(steady::fuzz::text_of(bytes, size), "");
    if (result.spec.has_value() != result.errors.empty()) std::abort();
    if (!result.spec) return 0;
    const steady::SpecResult again = steady::parse_spec(result.spec->canonical, "");
    if (!again.spec || again.spec->sha256 != result.spec->sha256) std::abort();
    return 0;
}
