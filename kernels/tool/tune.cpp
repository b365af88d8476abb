// Successive halving over variant × cut, of a GPU over its variants: everybody is checked first,
// then measured a little, the better half a little longer, until one is left. Contestants take
// turns, so that a drifting machine hurts all of them alike.
#include "kernels/tool/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/gpu_trial.h"
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

struct Contestant {
    const VariantBase* variant = nullptr;
    CutRule cut;
    std::function<double(int)> play;  // nanoseconds per call of a turn of so many
    int calls_per_turn = 1;
    std::vector<double> ns{};  // per call, one entry per turn of this round
};

// Who contends in a search, and what all of them work on.
class Field {
public:
    virtual ~Field() = default;
    // The variant with every cut.
    virtual void enter(const VariantBase& variant) = 0;
    std::vector<Contestant> all;
};

class CpuField : public Field {
public:
    CpuField(const Options& options, const OpInfo& op, const std::string& shape, Team& team)
        : options_(&options), op_(&op), shape_(shape), team_(&team) {}

    void enter(const VariantBase& variant) override {
        Stock& stock = stocks_[variant.input];
        if (!stock.trial) stock.trial = op_->trial(shape_, options_->seed, variant.input);
        auto& weights = stock.weights[variant.layout];
        if (!weights) {
            weights = std::make_unique<ColdWeights>(*stock.trial, variant, options_->warm);
        }
        const bool whole = options_->threads == 1 || variant.granule == kWhole;
        for (const CutRule cut :
             whole ? std::vector<CutRule>{{0}} : std::vector<CutRule>{{0}, {2}, {8}, {32}}) {
            all.push_back({&variant, cut,
                           [this, &stock, of = weights.get(), each = &variant, cut](int calls) {
                               return play(stock, *of, *each, cut, calls);
                           }});
        }
    }

private:
    // Inputs in one form, and the weights in each layout that reads it.
    struct Stock {
        std::unique_ptr<Trial> trial;
        std::map<std::string_view, std::unique_ptr<ColdWeights>> weights;
        std::size_t turn = 0;
    };

    // A turn that the machine disturbs ends early: its mean is bad either way, and the median over
    // turns passes it over.
    double play(Stock& stock, ColdWeights& weights, const VariantBase& variant, CutRule cut,
                int calls) {
        const auto begin = std::chrono::steady_clock::now();
        for (int done = 1;; ++done) {
            weights.use(stock.turn++);
            team_->run(*stock.trial, variant, cut);
            const std::chrono::duration<double, std::nano> ns =
                std::chrono::steady_clock::now() - begin;
            if (done >= calls || ns.count() > 20 * kTurnNs) return ns.count() / done;
        }
    }

    const Options* options_;
    const OpInfo* op_;
    std::string shape_;
    Team* team_;
    std::map<Input, Stock> stocks_;
};

class GpuField : public Field {
public:
    GpuField(const Options& options, const OpInfo& op, const std::string& shape)
        : options_(&options), op_(&op), shape_(shape) {}

    void enter(const VariantBase& variant) override {
        Stock& stock = stocks_[{variant.input, variant.layout}];
        if (!stock.trial) {
            stock.trial = op_->trial(shape_, options_->seed, variant.input);
            stock.on_gpu = std::make_unique<GpuTrial>(*stock.trial, variant, options_->warm);
        }
        calls_.push_back(std::make_unique<GpuCalls>(*stock.on_gpu, variant));
        all.push_back({&variant, {0}, [&own = *calls_.back()](int calls) {
                           const int per_issue = static_cast<int>(own.per_issue());
                           return own.issue_ns((calls + per_issue - 1) / per_issue);
                       }});
    }

private:
    struct Stock {
        std::unique_ptr<Trial> trial;
        std::unique_ptr<GpuTrial> on_gpu;
    };

    const Options* options_;
    const OpInfo* op_;
    std::string shape_;
    std::map<std::pair<Input, std::string_view>, Stock> stocks_;
    std::vector<std::unique_ptr<GpuCalls>> calls_;
};

// A round: every contestant has `turns` turns, in another order each time.
void play_round(std::vector<Contestant>& all, int turns, Random& random) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (Contestant& each : all) each.ns.clear();
    for (int turn = 0; turn < turns; ++turn) {
        for (std::size_t i = order.size(); i > 1; --i) {
            const auto other = random.integer(0, static_cast<std::int64_t>(i) - 1);
            std::swap(order[i - 1], order[static_cast<std::size_t>(other)]);
        }
        for (const std::size_t i : order) all[i].ns.push_back(all[i].play(all[i].calls_per_turn));
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

// Enters every variant that passes its check on the shape; the others with the reason.
Json enter_all(Field& field, const Options& options, const OpInfo& op, const std::string& shape) {
    Json refused = Json::array();
    for (const VariantBase* variant : selected_variants(op, options.variant)) {
        if (options.variant.empty() && variant->on_gpu() != (options.device != "cpu")) continue;
        require_on_device(*variant, options);
        const CheckResult result = check_variant(op, *variant, shape, options.seed);
        if (result.outcome == CheckOutcome::passed) {
            field.enter(*variant);
        } else {
            refused.push_back({{"variant", variant->name}, {"reason", result.message}});
        }
    }
    return refused;
}

Json search(const Options& options, const OpInfo& op, const std::string& shape, Field& field) {
    const Json refused = enter_all(field, options, op, shape);
    Json rounds = Json::array();
    std::vector<Contestant>& all = field.all;
    if (all.empty() && refused.empty()) {
        throw Error{
            fmt::format("--device {}: no variant of {} runs there; `steady-kernels list` shows "
                        "which do",
                        options.device, op.name)};
    }
    if (all.empty()) {
        throw Error{fmt::format("{} {}: no variant passes its check here", op.name, shape),
                    kExitInternal};
    }
    for (Contestant& each : all) {  // also the warm-up
        const double ns = each.play(1);
        each.calls_per_turn = std::clamp(static_cast<int>(kTurnNs / ns), 1, kMaxCallsPerTurn);
    }
    Random random(options.seed);
    for (int turns = kFirstTurns;; turns *= 2) {
        play_round(all, turns, random);
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
    if (options.device != "cpu") {
        result["arm"]["engine_flags"] = {{"device", options.device}};
    } else if (winner.cut.pieces_per_thread > 0) {
        result["arm"]["engine_flags"] = {{"cut", winner.cut.text()}};
    }
    return {{"winner", result}, {"refused", refused}, {"rounds", rounds}};
}

Json search_on_device(const Options& options, const OpInfo& op, const std::string& shape,
                      Team& team) {
    if (options.device != "cpu") {
        GpuField field(options, op, shape);
        return search(options, op, shape, field);
    }
    CpuField field(options, op, shape, team);
    return search(options, op, shape, field);
}

bool has_gpu_variant(const OpInfo& op) {
    const auto& all = variants_of(op.name);
    return std::any_of(all.begin(), all.end(), [](const auto* each) { return each->on_gpu(); });
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
    const bool on_gpu = options.device != "cpu";
    if (on_gpu) use_gpu(options.device);
    Team team(options.threads);
    TuneKey key{.op = {},
                .shape = {},
                .threads = options.threads,
                .warm = options.warm,
                .machine = on_gpu ? gpu::info().name + "; " + gpu::info().driver
                                  : cpu::model_name() + "; " + cpu::names(cpu::available()),
                .build = program_hash()};
    Json results = Json::array();
    for (const OpInfo* op : selected_ops(options)) {
        if (on_gpu && options.op.empty() && !has_gpu_variant(*op)) continue;
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
            const Json found =
                !known.is_null() ? known : search_on_device(options, *op, shape, team);
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
        const Json document = {{on_gpu ? "gpu" : "cpu", key.machine},
                               {"build", key.build},
                               {"threads", key.threads},
                               {"cache", options.cache},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    }
    return kExitOk;
}

}  // namespace steady::tool
