// What the joint rules share: the file being judged and how a problem between fields is placed. Not
// for other folders.
#pragma once

#include <string>
#include <vector>

#include "runner/base/json_reader.h"
#include "runner/spec/spec.h"

namespace steady {

struct JointCheck {
    const Spec& spec;
    const JsonValue& root;
    std::vector<JsonProblem>& problems;
    std::vector<std::string>& warnings;
    bool outside = false;
    bool from_people = false;  // not a stored one, which an older program accepted

    // The value at a pointer when it exists and nothing at or below it is wrong already.
    const JsonValue* sound(const std::string& pointer) const;
    // Placed at the pointer, or at its nearest existing parent.
    void report(const std::string& pointer, std::string found, std::string allowed,
                std::string hint);
    void forbid(const std::string& parent, const std::string& key, const std::string& allowed,
                const std::string& hint);
    void require(const std::string& parent, const std::string& key, const std::string& why);
};

void check_gates(JointCheck& check);
void check_sweep(JointCheck& check);
// What only outside programs have: where the commands come from, and what is needed of them.
void check_command(JointCheck& check);
// The parts of a gate that measures or compares commands; at: its pointer.
void check_command_gate(JointCheck& check, const Gate& gate, const std::string& at);

}  // namespace steady
