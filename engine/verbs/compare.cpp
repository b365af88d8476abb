// Verb compare: how two plans differ. Both run the same tokens; every named intermediate is
// compared in the order of computation, then the logits, so that the first op that differs is
// listed first.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/duet.h"
#include "engine/run/model.h"
#include "engine/verbs/verbs.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

struct Difference {
    std::string name;
    double rel_l2 = 0;  // largest over positions
    double max_abs = 0;
};

// Values of one position of arm A, to be met by arm B's.
struct Comparison {
    std::vector<Difference> found;  // in order of computation
    std::vector<std::vector<float>> a;
    std::size_t at = 0;

    void take_a(std::span<const float> values) { a.emplace_back(values.begin(), values.end()); }
    void take_b(std::string_view name, std::int64_t block, std::span<const float> values) {
        if (found.size() <= at) {
            found.push_back({block < 0 ? std::string(name) : fmt::format("{}-{}", name, block)});
        }
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < values.size() && i < a[at].size(); ++i) {
            const double x = a[at][i], y = values[i];
            difference += (x - y) * (x - y);
            size += x * x;
            found[at].max_abs = std::max(found[at].max_abs, std::abs(x - y));
        }
        const double rel = size > 0 ? std::sqrt(difference / size) : (difference > 0 ? 1 : 0);
        found[at].rel_l2 = std::max(found[at].rel_l2, rel);
        ++at;
    }
};

// Only what both dataflows compute can be compared name by name.
bool common(std::string_view name) { return name != "q_nope_absorbed" && name != "Qcur"; }

}  // namespace

int run_compare(const Arguments& arguments) {
    if (!arguments.has("--a") || !arguments.has("--b")) {
        throw Error{"compare: give two plans, --a PLAN and --b PLAN"};
    }
    Model model(arguments.positionals[0]);
    std::vector<std::int32_t> tokens;
    if (arguments.has("--tokens")) {
        tokens = arguments.tokens("--tokens", model.config.n_vocab);
    } else {
        const std::string text = arguments.text("--text", "The quick brown fox jumps over it.");
        tokens = forced_tokens(model.file, text, arguments.number("-n", 1, 1 << 16, 16),
                               model.config.n_vocab);
    }
    ArmOptions a = arguments.arm(), b = arguments.arm();
    a.plan = parse_plan(arguments.text("--a"));
    b.plan = parse_plan(arguments.text("--b"));
    auto arms = model.make_arms({a, b}, static_cast<std::int64_t>(tokens.size()));
    Comparison comparison;
    protocol::CorrectnessReply logits;
    arms[0]->trace = [&](std::string_view name, std::int64_t, std::span<const float> values) {
        if (common(name)) comparison.take_a(values);
    };
    arms[1]->trace = [&](std::string_view name, std::int64_t block, std::span<const float> v) {
        if (common(name)) comparison.take_b(name, block, v);
    };
    for (std::size_t p = 0; p < tokens.size(); ++p) {
        comparison.a.clear();
        comparison.at = 0;
        const auto of_a = forward(*arms[0], tokens[p], static_cast<std::int64_t>(p));
        arms[0]->pool.park();
        const auto of_b = forward(*arms[1], tokens[p], static_cast<std::int64_t>(p));
        arms[1]->pool.park();
        add_position(logits, of_a, of_b);
    }
    finish_comparison(logits);
    const auto first = std::find_if(comparison.found.begin(), comparison.found.end(),
                                    [](const Difference& d) { return d.max_abs > 0; });
    if (arguments.json()) {
        Json values = Json::array();
        for (const Difference& d : comparison.found) {
            values.push_back({{"name", d.name}, {"rel_l2", d.rel_l2}, {"max_abs", d.max_abs}});
        }
        const Json result{
            {"positions", logits.positions},
            {"first_difference", first == comparison.found.end() ? Json() : Json(first->name)},
            {"logits",
             {{"top1_agree", logits.top1_agree},
              {"kl", logits.kl},
              {"kl_max", logits.kl_max},
              {"max_abs", logits.max_abs},
              {"rel_l2", logits.rel_l2},
              {"non_finite", logits.non_finite}}},
            {"values", values}};
        fmt::print("{}\n", result.dump());
        return kExitOk;
    }
    for (const Difference& d : comparison.found) {
        fmt::print("{:<20} rel L2 {:.3e}   max {:.3e}\n", d.name, d.rel_l2, d.max_abs);
    }
    fmt::print(
        "\n{} positions: top token equal {:.1f} %, KL {:.3e}, rel L2 {:.3e}\n"
        "The plans part first at: {}\n",
        logits.positions, 100 * logits.top1_agree, logits.kl, logits.rel_l2,
        first == comparison.found.end() ? "nowhere, all bits are equal" : first->name);
    return kExitOk;
}

}  // namespace steady
