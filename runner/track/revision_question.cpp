// Derives the experiments of `bisect` and `track` from one question about a repository.
#include "runner/track/revision_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

std::string percent_of(double share) { return fmt::format("{:.3f}%", 100 * share); }

}  // namespace

void check_revision_question(const Spec& spec) {
    const auto refuse = [&](const std::string& found, const std::string& allowed) {
        throw Error(fmt::format("{}: found {}, allowed: {}", spec.id, found, allowed));
    };
    if (!is_outside(spec) || spec.subject.repo.empty()) {
        refuse("a question without a repository",
               "\"program\": \"outside\" with a \"repo\"; its arms' revisions are not used");
    }
    if (spec.sweep) refuse("\"sweep\"", "one question");
    if (deciding_gate(spec) == nullptr) {
        refuse("no gate that decides", "one gate with role decides: its metric is searched");
    }
    std::vector<std::string> differ = arms_difference(spec);
    std::erase(differ, "rev");
    if (!differ.empty()) {
        refuse("arms that differ in " + fmt::format("{}", fmt::join(differ, ", ")),
               "arms that differ in nothing but rev");
    }
    const auto proofs = [&](const char* arm) {
        const auto found = spec.applied.find(arm);
        return found == spec.applied.end() ? std::map<std::string, std::string>{} : found->second;
    };
    if (proofs("A") != proofs("B")) {
        refuse("\"applied\" that differs between the arms", "the same proof for both");
    }
}

nlohmann::json revision_question(const Spec& spec, const std::string& a, const std::string& b,
                                 const bisect::Thresholds& asked) {
    nlohmann::json document = nlohmann::json::parse(spec.canonical);
    nlohmann::json gates = nlohmann::json::array();
    for (nlohmann::json gate : document.at("gates")) {
        if (gate.at("level") == "correctness") gates.push_back(gate);
        if (gate.at("role") != "decides") continue;
        gate.erase("goal");
        gate.erase("margin");
        gate["floor"] = percent_of(asked.floor);
        gate["worth"] = percent_of(asked.worth);
        gate["beta"] = std::max(0.001, deciding_gate(spec)->alpha);  // both sides count alike here
        gates.push_back(gate);
    }
    document["gates"] = gates;
    document["expect_diff"] = {"rev"};
    document["arms"].erase("B0");
    document["arms"]["A"]["rev"] = a;
    document["arms"]["B"]["rev"] = b;
    document["hypothesis"].erase("predict");
    document.erase("retry_if");
    if (document.contains("schedule")) document["schedule"].erase("seed");
    if (document.contains("matrix")) {  // axes that only a guard used
        const std::string rest = document["gates"].dump() + document["arms"].dump();
        nlohmann::json used = nlohmann::json::object();
        for (const auto& [axis, values] : document["matrix"].items()) {
            if (rest.find("{" + axis + "}") != std::string::npos) used[axis] = values;
        }
        document["matrix"] = used;
        if (used.empty()) document.erase("matrix");
    }
    return document;
}

}  // namespace steady
