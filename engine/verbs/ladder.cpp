// Verb bench ladder: a model's decode speed on a GPU with each way to compute a block and to issue
// a token, beside the read speed measured in the same run, as a section of a page. The section is
// made by this command and never edited.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/run/machine.h"
#include "engine/run/model.h"
#include "engine/verbs/measure.h"
#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"
#include "kernels/base/page_section.h"
#include "kernels/base/revision.h"
#include "kernels/runtime/read_limit.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

// One way: `block` is an alternative of the step, `kernel` a variant of block_decode or empty.
struct Rung {
    std::string block, kernel, launch;
    std::string refused;                                   // why it cannot run
    std::vector<double> launches_per_token, tokens_per_s;  // of each depth
};

std::vector<Rung> rungs() {
    std::vector<Rung> all;
    for (const char* launch : {"stream", "graph", "dependent"}) {
        all.push_back({"joined", "", launch});
    }
    for (const char* launch : {"stream", "graph", "persistent"}) {
        all.push_back({"whole", "", launch});
    }
    for (const VariantBase* variant : variants_of("block_decode")) {
        if (variant->on_gpu()) all.push_back({"whole", std::string(variant->name), "dependent"});
    }
    return all;
}

void climb(Model& model, ArmOptions options, std::span<const std::int64_t> depths, std::int64_t n,
           Rung& rung) {
    options.plan.steps["block"] = rung.block;
    if (!rung.kernel.empty()) options.plan.kernels["block_decode"] = rung.kernel;
    set_engine_flag(options, "launch", rung.launch);
    const std::int64_t positions =
        *std::max_element(depths.begin(), depths.end()) + kWarmUpTokens + n;
    const auto tokens = scattered_tokens(positions, model.config.n_vocab);
    try {
        auto arms = model.make_arms({options}, positions);
        rung.kernel =
            rung.block == "whole" ? std::string(arms[0]->plan.variant<BlockDecode>().name) : "";
        for (const std::int64_t depth : depths) {
            const Measured measured = measure(*arms[0], Scope::model, depth, n, tokens);
            rung.tokens_per_s.push_back(1e9 / median(measured.token_ns));
            rung.launches_per_token.push_back(measured.launches_per_token);
        }
    } catch (const Error& error) {
        if (rung.tokens_per_s.empty()) rung.refused = error.what();
        if (rung.refused.empty()) throw;
    }
}

struct Conditions {
    std::string gpu, model;
    std::int64_t n_blocks = 0, tokens = 0, bytes = 0;  // weights that a token reads
    double read = 0;                                   // GB/s
    std::string cache;
};

std::string markdown(const std::vector<Rung>& all, std::span<const std::int64_t> depths,
                     const Conditions& of) {
    std::string text = fmt::format(
        "### Ladder of {} on {}\n\n{} blocks, {:.3f} GB of weights a token, cache of {}, "
        "read speed {:.0f} GB/s in the same run, revision {}.\nEach speed is the median of {} "
        "tokens. *Share* is of the read speed, with {} positions; launches are those of a "
        "token.\n\n"
        "| block | `block_decode` | launch | share |",
        of.model, of.gpu, of.n_blocks, static_cast<double>(of.bytes) / 1e9, of.cache, of.read,
        steady_revision(), of.tokens, depths[0]);
    for (const std::int64_t depth : depths) {
        text += fmt::format(" tok/s at {} | launches |", depth);
    }
    text += "\n| --- | --- | --- | ---: |";
    for (std::size_t i = 0; i < depths.size(); ++i) text += " ---: | ---: |";
    for (const Rung& rung : all) {
        text += fmt::format("\n| `{}` | {} | `{}` |", rung.block,
                            rung.kernel.empty() ? "—" : "`" + rung.kernel + "`", rung.launch);
        if (!rung.refused.empty()) {
            text += " refused |";
            for (std::size_t i = 0; i < depths.size(); ++i) text += " | |";
            continue;
        }
        text += fmt::format(" {:.1f} % |", 100 * static_cast<double>(of.bytes) *
                                               rung.tokens_per_s[0] / 1e9 / of.read);
        for (std::size_t i = 0; i < depths.size(); ++i) {
            text +=
                fmt::format(" {:.1f} | {:.0f} |", rung.tokens_per_s[i], rung.launches_per_token[i]);
        }
    }
    return text + "\n";
}

}  // namespace

int run_bench_ladder(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 20, 32);
    std::vector<std::int64_t> depths = arguments.numbers("--depth", 0, 1 << 22);
    if (depths.empty()) depths = {0, 4096};
    const ArmOptions options = arguments.arm();
    if (options.gpu < 0) {
        throw Error{
            "bench ladder measures a GPU: add --device cuda; for a CPU: steady-kernels ladder"};
    }
    if (arguments.has("--out")) check_page(arguments.text("--out"));
    Model model(arguments.positionals[0]);
    std::vector<Rung> all = rungs();
    double read = 0;
    for (Rung& rung : all) {
        fmt::print(stderr, "{} {} {} …\n", rung.block, rung.kernel, rung.launch);
        climb(model, options, depths, n, rung);
        read = std::max(read, gpu::read_limit_gb_per_s());
    }
    const std::int64_t bytes = model.make_arms({options}, 8)[0]->weights.bytes_per_token;
    std::stable_sort(all.begin(), all.end(), [](const Rung& a, const Rung& b) {
        return (a.refused.empty() ? a.tokens_per_s[0] : 0) <
               (b.refused.empty() ? b.tokens_per_s[0] : 0);
    });
    const Conditions of{gpu::info().name,
                        model.config.name,
                        model.config.n_blocks,
                        n,
                        bytes,
                        read,
                        engine_flags(options).at("cache")};
    const std::string section = markdown(all, depths, of);
    if (arguments.has("--out")) {
        write_section(arguments.text("--out"),
                      {of.model + " on " + of.gpu, "steady-engine bench ladder --out", section});
    } else if (!arguments.json()) {
        fmt::print("{}", section);
    }
    if (!arguments.json()) return kExitOk;
    Json rows = Json::array();
    for (const Rung& rung : all) {
        rows.push_back({{"block", rung.block},
                        {"block_decode", rung.kernel},
                        {"launch", rung.launch},
                        {"refused", rung.refused},
                        {"launches_per_token", rung.launches_per_token},
                        {"tokens_per_s", rung.tokens_per_s}});
    }
    const Json document = {{"gpu", of.gpu},         {"model", of.model},
                           {"depths", depths},      {"weight_bytes_per_token", bytes},
                           {"read_gb_per_s", read}, {"rungs", rows}};
    fmt::print("{}\n", document.dump());
    return kExitOk;
}

}  // namespace steady
