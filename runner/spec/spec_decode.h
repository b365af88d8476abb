// The two steps behind parse_spec: taking typed values out of the tree, and the rules that join
// several fields. Not for other folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/json_reader.h"
#include "runner/spec/spec.h"

namespace steady {

// Lenient: what is missing or of the wrong type keeps its default, so that the joint rules can look
// at the rest of a broken file.
Spec decode_spec(const JsonValue& root);

// Appends what is wrong between fields. Fields that already have a problem are not judged again.
void check_joint_rules(const Spec& spec, const JsonValue& root, std::string_view stem,
                       std::vector<JsonProblem>& problems, std::vector<std::string>& warnings,
                       bool from_people);

}  // namespace steady
