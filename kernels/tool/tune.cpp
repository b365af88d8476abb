// Successive halving over variant × cut: everybody is checked first, then measured a little, the
// better half a little longer, until one is left. Contestants take turns, so that a drifting
// machine hurts all of them alike.
#include "kernels/tool/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/program.h"
#include "kernels/tool/stream.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFirstTurns = 3;      // of the first round; each round after it has twice as many
constexpr double kTurnNs = 50'000;  // a turn repeats short calls until it lasts about so long
constexpr int kMaxCallsPerTurn = 2000;

// Inputs in one form, and the weights in each layout that reads it.
struct Stock {
    std::unique_ptr<Trial> trial;
    std::map<std::string_view, std::unique_ptr<ColdWeights>> weights;
    std::size_t turn = 0;
};

struct Contestant {
    const VariantBase* variant = nullptr;
    CutRule cut;
    Stock* stock = nullptr;
    ColdWeights* weights = nullptr;
    int calls_per_turn = 1;
    std::vector<double> ns{};  // per call, one entry per turn of this round
};

// Nanoseconds per call of one turn. A turn that the machine disturbs ends early: its mean is bad
// either way, and the median over turns passes it over.
double play(Team& team, Contestant& each, int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int done = 1;; ++done) {
        each.weights->use(each.stock->turn++);
        team.run(*each.stock->trial, *each.variant, each.cut);
        const std::chrono::duration<double, std::nano> ns =
            std::chrono::steady_clock::now() - begin;
        if (done >= calls || ns.count() > 20 * kTurnNs) return ns.count() / done;
    }
}

// A round: every contestant has `turns` turns, in another order each time.
void play_round(Team& team, std::vector<Contestant>& all, int turns, Random& random) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (Contestant& each : all) each.ns.clear();
    for (int turn = 0; turn < turns; ++turn) {
        for (std::size_t i = order.size(); i > 1; --i) {
            const auto other = random.integer(0, static_cast<std::int64_t>(i) - 1);
            std::swap(order[i - 1], order[static_cast<std::size_t>(other)]);
        }
        for (const std::size_t i : order) {
            all[i].ns.push_back(play(team, all[i], all[i].calls_per_turn));
        }
    }
}

Json to_json(const Contestant& each) {
    const auto [low, high] = std::minmax_element(each.ns.begin(), each.ns.end());
    return {{"variant", each.variant->name},
            {"cut", each.cut.text()},
            {"latency_ns_median", median(each.ns)},
            {"latency_ns_min", *low},
            {"latency_ns_max", *high},
            {"turns", each.ns.size()}};
}

std::vector<CutRule> cuts(const VariantBase& variant, int threads) {
    if (threads == 1 || variant.granule == kWhole) return {{0}};
    return {{0}, {2}, {8}, {32}};
}

// Every variant that passes its check on the shape, with every cut; the others with the reason.
std::vector<Contestant> contestants(const Options& options, const OpInfo& op,
                                    const std::string& shape, std::map<Input, Stock>& stocks,
                                    Json& refused) {
    std::vector<Contestant> all;
    for (const VariantBase* variant : selected_variants(op, options.variant)) {
        if (variant->on_gpu() && options.variant.empty()) continue;
        refuse_gpu(*variant);
        const CheckResult result = check_variant(op, *variant, shape, options.seed);
        if (result.outcome != CheckOutcome::passed) {
            refused.push_back({{"variant", variant->name}, {"reason", result.message}});
            continue;
        }
        Stock& stock = stocks[variant->input];
        if (!stock.trial) stock.trial = op.trial(shape, options.seed, variant->input);
        auto& weights = stock.weights[variant->layout];
        if (!weights) weights = std::make_unique<ColdWeights>(*stock.trial, *variant, options.warm);
        for (const CutRule cut : cuts(*variant, options.threads)) {
            all.push_back({variant, cut, &stock, weights.get()});
        }
    }
    return all;
}

Json search(const Options& options, const OpInfo& op, const std::string& shape, Team& team) {
    Json refused = Json::array();
    Json rounds = Json::array();
    std::map<Input, Stock> stocks;
    std::vector<Contestant> all = contestants(options, op, shape, stocks, refused);
    if (all.empty()) {
        throw Error{fmt::format("{} {}: no variant passes its check here", op.name, shape),
                    kExitInternal};
    }
    for (Contestant& each : all) {  // also the warm-up
        const double ns = play(team, each, 1);
        each.calls_per_turn = std::clamp(static_cast<int>(kTurnNs / ns), 1, kMaxCallsPerTurn);
    }
    Random random(options.seed);
    for (int turns = kFirstTurns;; turns *= 2) {
        play_round(team, all, turns, random);
        std::vector<double> scores;
        for (const Contestant& each : all) scores.push_back(median(each.ns));
        Json round = Json::array();
        std::vector<Contestant> next;
        for (const std::size_t i : better_half(scores)) next.push_back(all[i]);
        for (const Contestant& each : all) round.push_back(to_json(each));
        rounds.push_back(round);
        if (all.size() <= 2) {
            all = std::move(next);
            break;
        }
        all = std::move(next);
    }
    const Contestant& winner = all.front();
    const Cost cost = op.cost(shape);
    Json result = to_json(winner);
    result["gb_per_s"] =
        static_cast<double>(cost.weight_bytes + cost.other_bytes) / median(winner.ns);
    result["arm"] = {{"kernels", {{std::string(op.name), winner.variant->name}}}};
    // Even parts are what the engine begins with, so only pieces are a change to ask about.
    if (winner.cut.pieces_per_thread > 0) {
        result["arm"]["engine_flags"] = {{"cut", winner.cut.text()}};
    }
    return {{"winner", result}, {"refused", refused}, {"rounds", rounds}};
}

}  // namespace

std::vector<std::size_t> better_half(const std::vector<double>& scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
    order.resize((scores.size() + 1) / 2);
    return order;
}

int run_tune(const Options& options) {
    Team team(options.threads);
    TuneKey key{.op = {},
                .shape = {},
                .threads = options.threads,
                .warm = options.warm,
                .cpu = cpu::model_name() + "; " + cpu::names(cpu::available()),
                .build = program_hash()};
    Json results = Json::array();
    for (const OpInfo* op : selected_ops(options)) {
        std::vector<std::string> shapes = op->model_shapes();
        if (!options.shape.empty()) {
            require_shape(*op, options.shape);
            shapes = {options.shape};
        }
        for (const std::string& shape : shapes) {
            key.op = op->name;
            key.shape = shape;
            // A search among fewer variants neither asks nor answers the whole question.
            const bool whole = options.variant.empty();
            Json known;
            if (whole && !options.again) known = find_tuned(read_tune_cache(options.cache), key);
            const Json found = known.is_null() ? search(options, *op, shape, team) : known;
            if (whole && known.is_null()) store_tuned(options.cache, key, found);
            Json row = {{"op", op->name}, {"shape", shape}, {"cached", !known.is_null()}};
            row.update(found);
            if (!options.json) {
                const Json& winner = row["winner"];
                fmt::print("{:<16} {:<40} {:<28} {:<10} {:>12.0f} ns {:>6.2f} GB/s{}\n", op->name,
                           shape, winner["variant"].get<std::string>(),
                           winner["cut"].get<std::string>(),
                           winner["latency_ns_median"].get<double>(),
                           winner["gb_per_s"].get<double>(), known.is_null() ? "" : "  (cached)");
            }
            results.push_back(std::move(row));
        }
    }
    if (options.json) {
        const Json document = {{"cpu", key.cpu},
                               {"build", key.build},
                               {"threads", key.threads},
                               {"cache", options.cache},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    }
    return kExitOk;
}

}  // namespace steady::tool
