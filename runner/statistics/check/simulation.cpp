// Simulated experiments. Random numbers are made from the generator's raw bits here, because the
// distributions of the standard library differ between implementations and a table must be
// reproducible from its seed.
#include "runner/statistics/check/simulation.h"

#include <fmt/core.h>

#include <cmath>
#include <random>

#include "kernels/base/error.h"

namespace steady {

namespace {

class Random {
public:
    explicit Random(std::uint64_t seed) {
        std::seed_seq sequence{static_cast<std::uint32_t>(seed),
                               static_cast<std::uint32_t>(seed >> 32)};
        bits_.seed(sequence);
    }
    // In (0, 1).
    double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1.0p-53; }
    bool coin() { return bits_() >> 63 != 0; }
    double normal() {
        constexpr double kTwoPi = 6.283185307179586;
        return std::sqrt(-2 * std::log(uniform())) * std::cos(kTwoPi * uniform());
    }
    double exponential() { return -std::log(uniform()); }
    // Student t with 4 degrees of freedom, scaled to sd 1.
    double heavy() {
        const double chi_square = 2 * (exponential() + exponential());
        return normal() / std::sqrt(chi_square / 4) / std::sqrt(2.0);
    }

private:
    std::mt19937_64 bits_;
};

// ln t of one run after another.
class Machine {
public:
    Machine(const NoiseModel& model, Random& random)
        : model_(model), random_(random), drift_(model.drift * random.normal()) {}

    double run() {
        const double value = model_.white * random_.heavy() + drift_ + spike();
        drift_ = model_.phi * drift_ +
                 model_.drift * std::sqrt(1 - model_.phi * model_.phi) * random_.normal();
        return value;
    }

private:
    double spike() {
        if (random_.uniform() >= model_.spike_share) return 0;
        return model_.spike_mean * random_.exponential();
    }
    const NoiseModel& model_;
    Random& random_;
    double drift_;
};

}  // namespace

std::vector<NoiseModel> noise_models() {
    return {{"Q", 0.003, 0.003, 0.9, 0.02, 0.03, 0.0040},
            {"S", 0.00375, 0.00375, 0.9, 0.02, 0.03, 0.0050},
            {"M1", 0.007, 0.007, 0.8, 0.03, 0.04, 0.0102},
            {"M2", 0.012, 0.010, 0.8, 0.05, 0.05, 0.0172},
            {"J", 0.10, 0.09, 0.8, 0.05, 0.15, 0.14}};
}

NoiseModel noise_model(const std::string& name) {
    for (const NoiseModel& model : noise_models())
        if (model.name == name) return model;
    throw Error(fmt::format("simulation: no noise model {:?}; there are Q, S, M1, M2 and J", name));
}

std::vector<double> simulate_pairs(const NoiseModel& model, double effect, std::size_t n,
                                   std::uint64_t seed) {
    Random random(seed);
    Machine machine(model, random);
    std::vector<double> d;
    for (std::size_t i = 0; i < n; ++i) {
        const bool candidate_first = random.coin();
        const double first = machine.run(), second = machine.run();
        d.push_back((candidate_first ? second - first : first - second) + effect);
    }
    return d;
}

OperatingPoint simulate(const NoiseModel& model, double effect, const RuleParams& params,
                        std::size_t n_experiments, std::uint64_t seed) {
    OperatingPoint point{model.name,   effect,        params.delta_w,
                         params.n_max, n_experiments, params.rule};
    RuleParams rule = params;
    rule.estimate = false;
    rule.sigma0 = model.sigma0;
    double n_pairs = 0;
    for (std::size_t e = 0; e < n_experiments; ++e) {
        const auto outcome = decide_gain(simulate_pairs(model, effect, rule.n_max, seed + e), rule);
        n_pairs += real(outcome.n_pairs);
        point.n_accept += outcome.decision == Decision::accept;
        point.n_accept_within_30 += outcome.decision == Decision::accept && outcome.n_pairs <= 30;
        point.n_reject += outcome.decision == Decision::reject;
        point.n_inconclusive += outcome.decision == Decision::inconclusive;
    }
    if (n_experiments > 0) point.mean_pairs = n_pairs / real(n_experiments);
    return point;
}

std::vector<OperatingPoint> operating_table(int rule, std::size_t n_experiments,
                                            std::uint64_t seed) {
    std::vector<OperatingPoint> points;
    for (const NoiseModel& model : noise_models()) {
        RuleParams usual;
        usual.rule = rule;
        for (double effect : {0.0, 0.005, 0.01, 0.02, 0.05})
            points.push_back(simulate(model, effect, usual, n_experiments, seed));
        RuleParams other = usual;
        if (model.name == "Q" || model.name == "S") other.delta_w = 0.005;
        if (model.name == "M2") other.n_max = 100;
        if (model.name == "J") other.delta_w = 0.10;
        if (model.name == "M1") continue;
        for (double effect : {0.0, other.delta_w, 2 * other.delta_w})
            points.push_back(simulate(model, effect, other, n_experiments, seed));
    }
    return points;
}

std::string operating_text(const std::vector<OperatingPoint>& points, std::uint64_t seed) {
    std::string out = fmt::format(
        "rule {}\n"
        "noise  worth  cap  true effect  accept %  within 30 %  reject %  undecided %  mean pairs  "
        " "
        "(seed {}, {} experiments a row, refuse rule off)\n",
        points.empty() ? kLatestRule : points[0].rule, seed,
        points.empty() ? 0 : points[0].n_experiments);
    for (const OperatingPoint& point : points) {
        const double share = 100 / real(point.n_experiments);
        out += fmt::format(
            "{:5}  {:4.1f}%  {:3}  {:9.1f} %  {:8.2f}  {:11.2f}  {:8.2f}  {:11.2f}  {:10.1f}\n",
            point.model, 100 * point.delta_w, point.n_max, 100 * point.effect,
            share * real(point.n_accept), share * real(point.n_accept_within_30),
            share * real(point.n_reject), share * real(point.n_inconclusive), point.mean_pairs);
    }
    return out;
}

}  // namespace steady
