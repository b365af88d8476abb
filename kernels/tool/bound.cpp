// At which rate the arithmetic alone would stop a variant: instructions per 32 weights, counted as
// they execute, the cycles that a static model gives them, and the measured rates, from the cache
// and from memory, beside the read limit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/machine_code.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/stepped.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

// Small enough to step through and to stay in the cache; the first that is one of the op.
constexpr const char* kSmallShapes[] = {"rows=64,cols=2048", "rows=32,cols=2048,vectors=16",
                                        "n_experts=2,n_used=2,cols=512,hidden=256"};

const std::set<std::string_view> kUsualOps = {"q4_0_matvec", "q4_0_experts", "q5_k_matvec",
                                              "q6_k_matvec", "q8_0_matvec"};

std::string small_shape(const Options& options, const OpInfo& op) {
    if (!options.shape.empty()) return options.shape;
    for (const char* shape : kSmallShapes) {
        if (op.shape_error(shape).empty()) return shape;
    }
    throw Error{fmt::format("bound: op {} has no small shape; name one by --shape, for example: {}",
                            op.name, op.model_shapes().front())};
}

// Straight code that ran equally often.
struct Piece {
    std::int64_t runs = 0;
    std::vector<std::string> instructions;
};

std::vector<Piece> pieces_of(const std::map<std::uint64_t, std::int64_t>& counts) {
    std::vector<Piece> pieces;
    std::map<std::uint64_t, std::string> text;
    std::uint64_t last = 0;
    for (const auto& [address, runs] : counts) {
        if (!text.contains(address)) {  // the next function
            text = instructions_between(address, address + 65536);
        }
        const std::string& instruction = text[address];
        // At most 15 bytes from one instruction to the next that was executed.
        if (pieces.empty() || pieces.back().runs != runs || address > last + 15) {
            pieces.push_back({runs, {}});
        }
        pieces.back().instructions.push_back(instruction);
        last = address;
    }
    return pieces;
}

struct Counted {
    double instructions = 0;              // per 32 weights
    std::map<std::string, double> kinds;  // likewise
    std::optional<double> cycles;         // likewise, by the static model
};

Counted counted(const std::vector<Piece>& pieces, double groups, const StaticModel& model) {
    Counted found;
    for (const Piece& piece : pieces) {
        for (const std::string& instruction : piece.instructions) {
            const double share = static_cast<double>(piece.runs) / groups;
            found.instructions += share;
            found.kinds[kind_of(instruction)] += share;
        }
    }
    if (!model.known()) return found;
    double cycles = 0;
    for (const Piece& piece : pieces) {
        const double share = static_cast<double>(piece.runs) / groups;
        const double part = share * static_cast<double>(piece.instructions.size());
        if (part < 0.005 * found.instructions) continue;
        const std::optional<double> one = model.cycles(piece.instructions);
        if (!one) return found;
        cycles += share * *one;
    }
    found.cycles = cycles;
    return found;
}

double ns_now() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// GHz of this CPU now: in a chain of multiplications each takes three cycles, on every x86-64 CPU
// that is wider than SSE. (Chains of additions are folded by some.)
double clock_ghz() {
    constexpr std::int64_t kProducts = 4'000'000;
    constexpr double kCycles = 3;
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        const double begin = ns_now();
        std::int64_t left = kProducts / 8;
        std::int64_t product = 3;
        asm volatile(
            "1:\n\t"
            "imulq %0, %0\n\timulq %0, %0\n\timulq %0, %0\n\timulq %0, %0\n\t"
            "imulq %0, %0\n\timulq %0, %0\n\timulq %0, %0\n\timulq %0, %0\n\t"
            "decq %1\n\tjnz 1b"
            : "+r"(product), "+r"(left)
            :
            : "cc");
        best = std::max(best, kCycles * static_cast<double>(kProducts) / (ns_now() - begin));
    }
    return best;
}

// One thread over weights that stay in its cache: what the arithmetic really does.
double warm_ns(const OpInfo& op, const VariantBase& variant, const std::string& shape,
               const Options& options) {
    const auto trial = op.trial(shape, options.seed, variant.input);
    ColdWeights weights(*trial, variant, true);
    weights.use(0);
    Team one(1);
    double best = 0;
    const double end = ns_now() + options.seconds * 1e9;
    for (int calls = 1; ns_now() < end || best == 0; calls = std::min(2 * calls, 64)) {
        const double begin = ns_now();
        for (int i = 0; i < calls; ++i) one.run(*trial, variant);
        const double ns = (ns_now() - begin) / calls;
        best = best == 0 ? ns : std::min(best, ns);
    }
    return best;
}

std::vector<Piece> executed(const OpInfo& op, const VariantBase& variant, const std::string& shape,
                            const Options& options) {
    const auto trial = op.trial(shape, options.seed, variant.input);
    ColdWeights weights(*trial, variant, true);
    weights.use(0);
    const auto run = [&](const auto& around) {
        for (std::size_t phase = 0; phase < trial->phase_rows.size(); ++phase) {
            const Range range{0, trial->phase_rows[phase], static_cast<int>(phase)};
            around([&] { trial->run(variant, range); });
        }
    };
    run([](const auto& call) { call(); });  // first calls resolve symbols
    std::map<std::uint64_t, std::int64_t> counts;
    run([&](const auto& call) {
        for (const auto& [address, n] : count_instructions(call)) counts[address] += n;
    });
    return pieces_of(counts);
}

struct Bound {
    const Options& options;
    Team& team;
    const StaticModel& model;
    const Bandwidth& read;
    double ghz;

    Json of(const OpInfo& op, const VariantBase& variant) const {
        const std::string shape = small_shape(options, op);
        Json row = {{"op", op.name}, {"variant", variant.name}, {"shape", shape}};
        if (const CheckResult checked = check_variant(op, variant, shape, options.seed);
            checked.outcome != CheckOutcome::passed) {
            row["refused"] = checked.message;
            return row;
        }
        const Cost cost = op.cost(shape);
        const double groups = cost.flops / 64;  // of 32 products
        const double bytes = static_cast<double>(cost.weight_bytes) / groups;
        const Counted code = counted(executed(op, variant, shape, options), groups, model);
        row["bytes_per_32_weights"] = bytes;
        row["instructions_per_32_weights"] = code.instructions;
        row["kinds"] = code.kinds;
        const double warm =
            static_cast<double>(cost.weight_bytes) / warm_ns(op, variant, shape, options);
        row["warm_gb_per_s_per_thread"] = warm;
        row["instructions_per_cycle"] = code.instructions / (bytes * ghz / warm);
        if (code.cycles) {
            row["static_cycles_per_32_weights"] = *code.cycles;
            row["static_gb_per_s_per_thread"] = bytes * ghz / *code.cycles;
        }
        const double all = warm * read.threads;
        row["compute_gb_per_s"] = all;
        row["bound_by"] = all < read.gb_per_s ? "compute" : "memory";
        if (!options.warm) add_cold(row, op, variant);
        return row;
    }

    void add_cold(Json& row, const OpInfo& op, const VariantBase& variant) const {
        const std::string shape = largest_shape(op);
        std::vector<Row> rows{{&op, &variant, shape, op.why_not(variant, shape)}};
        time_rows(rows, options, team);
        if (rows[0].latency_ns.empty()) return;
        const double ns = median(rows[0].latency_ns);
        row["cold_shape"] = shape;
        row["cold_gb_per_s"] = static_cast<double>(op.cost(shape).weight_bytes) / ns;
    }
};

std::string optional_number(const Json& row, const char* key) {
    return row.contains(key) ? fmt::format("{:.2f}", row[key].get<double>()) : "–";
}

void print_row(const Json& row, double threads) {
    const std::string name = row["variant"].get<std::string>();
    if (row.contains("refused")) {
        fmt::print("| {} | not measured: {} |\n", name, row["refused"].get<std::string>());
        return;
    }
    std::string kinds;
    for (const auto& [kind, n] : row["kinds"].items()) {
        if (n.get<double>() < 0.05) continue;
        kinds += fmt::format("{}{} {:.1f}", kinds.empty() ? "" : ", ", kind, n.get<double>());
    }
    const double static_one = row.value("static_gb_per_s_per_thread", 0.0);
    fmt::print("| {} | {:.1f} | {} | {} | {} | {:.1f} | {:.1f} | {} | {} |\n", name,
               row["instructions_per_32_weights"].get<double>(), kinds,
               optional_number(row, "static_cycles_per_32_weights"),
               static_one > 0 ? fmt::format("{:.1f}", static_one * threads) : "–",
               row["compute_gb_per_s"].get<double>(), row["instructions_per_cycle"].get<double>(),
               optional_number(row, "cold_gb_per_s"), row["bound_by"].get<std::string>());
}

bool is_wanted(const Options& options, const VariantBase& variant) {
    if (!options.variant.empty()) return true;
    const bool slow = variant.name == "reference" || variant.name.rfind("portable", 0) == 0;
    return !slow && !variant.on_gpu() && cpu::has(variant.needs);
}

}  // namespace

int run_bound(const Options& options) {
    const StaticModel model;
    Team team(options.threads);
    const Bandwidth read = measure_read_bandwidth(team);
    const Bound bound{options, team, model, read, clock_ghz()};
    if (!options.json) {
        fmt::print("{} ({}), {} thread(s), {:.2f} GHz, read limit {:.1f} GB/s\nStatic cycles: {}\n",
                   cpu::model_name(), cpu::class_name(), read.threads, bound.ghz, read.gb_per_s,
                   model.known() ? model.name() : "none, " + model.why_not());
    }
    Json rows = Json::array();
    for (const OpInfo* op : selected_ops(options)) {
        if (options.op.empty() && !kUsualOps.contains(op->name)) continue;
        if (!options.json) {
            fmt::print(
                "\n| {} | instructions per 32 weights | of them | static cycles | static bound, "
                "GB/s | from cache, GB/s | per cycle | from memory, GB/s | bound by |\n"
                "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
                op->name);
        }
        for (const VariantBase* variant : selected_variants(*op, options.variant)) {
            if (!is_wanted(options, *variant)) continue;
            require_on_device(*variant, options);
            rows.push_back(bound.of(*op, *variant));
            if (!options.json) print_row(rows.back(), read.threads);
        }
    }
    if (options.json) {
        const Json document = {{"cpu", cpu::model_name()},
                               {"cpu_class", cpu::class_name()},
                               {"threads", read.threads},
                               {"ghz", bound.ghz},
                               {"read_gb_per_s", read.gb_per_s},
                               {"static_model", model.known() ? model.name() : model.why_not()},
                               {"variants", rows}};
        fmt::print("{}\n", document.dump(1));
    }
    return kExitOk;
}

}  // namespace steady::tool
