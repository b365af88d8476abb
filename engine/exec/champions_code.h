// Whether the code of each default is still the code that its verdict measured.
#pragma once

#include <span>
#include <string_view>

#include "engine/exec/champions.h"

namespace steady {

struct MeasuredCode {
    std::string_view op, variant;
    std::string_view hash;  // of the code that ran; empty: its build held changes of no revision
    bool open = false;      // declared: today's code is not that code
    std::string_view decided_on = "";  // where several classes decided on it: of which one
};
std::span<const MeasuredCode> measured_code();
const MeasuredCode* measured_code_of(const Champion& champion);  // nullptr: it has no line

enum class Evidence { none, current, changed, uncommitted, missing };
Evidence evidence_of(const Champion& champion);
const char* words_of(Evidence evidence);

}  // namespace steady
