// Verb weights: what in a model's weights speed and exactness depend on, beside published figures.
#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "engine/run/weight_traits.h"
#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"

namespace steady {
namespace {

constexpr const char* kText =
    "The harbour was quiet before the first ferry came in. A man in a grey coat counted crates and "
    "wrote the numbers on a board; twelve of oranges, nine of salt, and one that nobody had asked "
    "for. By noon the market would be full of people who wanted none of it and bought it all the "
    "same. In 1932 the town had two bakers, a doctor and a school with forty pupils; today there "
    "are three banks, and the school is a museum. The museum's largest room shows how nets were "
    "mended: first the torn part is cut away, then new yarn is tied to every loop that is left, "
    "and at last the whole net is pulled tight. Children like the second room better, because a "
    "small engine there turns a wheel when they press a button. Whether the engine is as old as "
    "the sign says, the director does not know. He once measured its speed with a stop-watch and "
    "found 61 turns a minute, then 58, then 64, and wrote down 61. Rain is expected in the "
    "evening, with wind from the west; ships of less than twenty metres should stay in port.";

std::string text_of(const Arguments& arguments) {
    const std::string path = arguments.text("--file");
    if (path.empty()) return arguments.text("--text", kText);
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    if (!in) throw Error{fmt::format("--file: cannot read {}", path)};
    return all.str();
}

std::vector<std::int32_t> tokens_of(const Arguments& arguments, const Model& model) {
    const std::int64_t n = arguments.number("-n", 2, 1 << 16, 256);
    const std::int64_t n_vocab = model.config.n_vocab;
    if (!arguments.has("--scattered")) {
        return forced_tokens(model.file, text_of(arguments), n, n_vocab);
    }
    if (n > n_vocab) {
        throw Error{fmt::format(
            "weights: -n: found {}, allowed: 2 to {}, the tokens that this vocabulary has", n,
            n_vocab)};
    }
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < n; ++i) {
        tokens.push_back(static_cast<std::int32_t>(i * (n_vocab / n)));
    }
    return tokens;
}

nlohmann::ordered_json traits_json(const std::string& name, const WeightTraits& t) {
    return {{"model", name},
            {"tokens", t.tokens},
            {"blocks", t.blocks},
            {"outlier_channels", t.outlier_channels},
            {"largest_channel", t.largest_channel},
            {"routed_blocks", t.routed_blocks},
            {"experts", t.experts},
            {"used", t.used},
            {"load_above_mean", t.load_above_mean},
            {"balanced_above_mean", t.balanced_above_mean},
            {"idle_experts", t.idle_experts},
            {"repeats_first", t.repeats_first},
            {"repeats_first_block", t.repeats_first_block},
            {"margin", t.margin},
            {"changed_choices", t.changed_choices},
            {"changed_tokens", t.changed_tokens}};
}

void print_traits(const std::string& name, const WeightTraits& t) {
    fmt::print("{}, {} tokens of a text\n\n", name, t.tokens);
    fmt::print("outlier channels            {} (largest {:.1f} times the median channel)\n",
               t.outlier_channels, t.largest_channel);
    if (t.routed_blocks == 0) {
        fmt::print("routed experts              none: every block is dense\n");
        return;
    }
    fmt::print("routed experts              {} of {} in {} blocks\n", t.used, t.experts,
               t.routed_blocks);
    fmt::print(
        "most loaded expert          {:+.0f} % over the mean; random choice gives {:+.0f} %\n",
        100 * t.load_above_mean, 100 * t.balanced_above_mean);
    fmt::print("experts without a token     {:.0f} %\n", 100 * t.idle_experts);
    fmt::print(
        "next token, same expert     {:.1f} times chance; {:.1f} in the first routed block\n",
        t.repeats_first, t.repeats_first_block);
    fmt::print("last chosen over first left {:.3f} deviations of the scores, median\n", t.margin);
    fmt::print(
        "8-bit activations choose others than 16-bit ones: {:.1f} % of the choices, {:.0f} % of "
        "the tokens\n",
        100 * t.changed_choices, 100 * t.changed_tokens);
}

}  // namespace

int run_weights(const Arguments& arguments) {
    ArmOptions fine = arguments.arm();
    if (fine.gpu >= 0) {
        throw Error{
            "weights: found a GPU as device; allowed: the CPU. Leave out --device: activations "
            "do not depend on where they are computed"};
    }
    Model model(arguments.positionals[0]);
    const std::vector<std::int32_t> tokens = tokens_of(arguments, model);
    ArmOptions coarse = fine;
    set_engine_flag(fine, "activations", "q16");
    set_engine_flag(coarse, "activations", "q8");
    auto arms = model.make_arms({fine, coarse}, static_cast<std::int64_t>(tokens.size()));
    const WeightTraits traits = weight_traits(*arms[0], *arms[1], tokens);
    if (arguments.json()) {
        fmt::print("{}\n", traits_json(model.config.name, traits).dump());
    } else {
        print_traits(model.config.name, traits);
    }
    return kExitOk;
}

}  // namespace steady
