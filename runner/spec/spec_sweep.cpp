// The experiments are written as files and read by parse_spec, so that all rules hold for them too.
#include "runner/spec/spec_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/json_reader.h"
#include "runner/spec/spec_command.h"
#include "runner/spec/spec_decode.h"

namespace steady {
namespace {

using Json = nlohmann::json;

// {name} becomes the value wherever B's command or proofs hold it.
void fill_place(Json& file, const std::string& name, const std::string& value) {
    const std::map<std::string, std::string> values = {{name, value}};
    Json& arm = file["arms"]["B"];
    for (const char* key : {"run", "args"}) {
        if (!arm.contains(key)) continue;
        arm[key] = fill_placeholders(arm[key].get<std::vector<std::string>>(), values);
    }
    if (!file.contains("applied") || !file["applied"].contains("B")) return;
    for (auto& [rule, text] : file["applied"]["B"].items()) {
        text = fill_placeholders({text.get<std::string>()}, values).front();
    }
}

void set(Json& file, const std::string& path, const std::string& value) {
    const std::size_t dot = path.find('.');
    if (path.starts_with(kSweptPlace)) {
        fill_place(file, path.substr(kSweptPlace.size()), value);
    } else if (dot == std::string::npos) {
        file["arms"]["B"][path] = Json::parse(value);  // threads
    } else {
        file["arms"]["B"][path.substr(0, dot)][path.substr(dot + 1)] = value;
    }
}

std::vector<std::string> differences_in(const Json& file) {
    return arms_difference(decode_spec(*read_json(file.dump()).root));
}

Json with_choice(const Spec& spec, const SweepChoice& choice) {
    Json file = Json::parse(spec.canonical);
    file.erase("sweep");
    if (file.contains("schedule")) file["schedule"].erase("seed");
    for (const auto& [path, value] : choice) set(file, path, value);
    // A value may be A's own: there the arms do not differ.
    const std::vector<std::string> real = differences_in(file);
    Json expected = Json::array();
    for (const std::string& path : spec.expect_diff) {
        if (std::find(real.begin(), real.end(), path) != real.end()) expected.push_back(path);
    }
    file["expect_diff"] = expected;
    return file;
}

SpecResult parsed(Json file, const std::string& id) {
    file["id"] = id;
    return parse_spec(file.dump(), id);
}

// What the gate measures stays; what it decides by goes.
Json as_advice(Json gate) {
    gate["role"] = "advice";
    for (const char* key : {"goal", "worth", "floor", "margin", "alpha", "beta"}) gate.erase(key);
    return gate;
}

}  // namespace

std::vector<SweepChoice> sweep_choices(const SweepSpec& sweep) {
    std::vector<SweepChoice> choices = {{}};
    for (const auto& [path, values] : sweep.axes) {
        std::vector<SweepChoice> longer;
        for (const SweepChoice& choice : choices) {
            for (const std::string& value : values) {
                if (longer.size() == kMostSweepChoices) break;
                longer.push_back(choice);
                longer.back()[path] = value;
            }
        }
        choices = std::move(longer);
    }
    return choices;
}

std::string choice_text(const SweepChoice& choice) {
    std::vector<std::string> parts;
    for (const auto& [path, value] : choice) parts.push_back(path + "=" + value);
    return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_baseline(const Spec& spec, const SweepChoice& choice) {
    return differences_in(with_choice(spec, choice)).empty();
}

SpecResult screening_spec(const Spec& spec, const SweepChoice& choice, std::size_t number) {
    Json file = with_choice(spec, choice);
    Json gates = Json::array();
    for (const Json& gate : file["gates"]) {
        if (gate["level"] == "correctness") gates.push_back(gate);
        if (gate["role"] == "decides") gates.push_back(as_advice(gate));
    }
    file["gates"] = gates;
    file["schedule"]["pairs"] = {{"max", spec.sweep->screen_pairs}};
    file["schedule"]["aa_pairs"] = 0;
    return parsed(std::move(file), fmt::format("{}-screen-{}", spec.id, number));
}

SpecResult confirmation_spec(const Spec& spec, const SweepChoice& choice) {
    return parsed(with_choice(spec, choice), spec.id + "-confirm");
}

}  // namespace steady
