// Reads the named intermediates of the forward: the normed vectors and the routers' logits.
#include "engine/run/weight_traits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/model/forward.h"
#include "engine/run/decode.h"

namespace steady {
namespace {

constexpr double kOutlier = 6;          // times the median channel
constexpr double kOutlierNorms = 0.25;  // share of the norms

using Choice = std::vector<std::int32_t>;  // expert numbers, best first

// One arm's view of one routed block.
struct Routing {
    std::vector<Choice> choices;  // of each token
    std::vector<double> margins;
};

struct Seen {
    std::vector<std::vector<double>> norms;  // per norm: sums of squares per channel
    std::vector<Routing> routing;            // per block; empty where it is dense
};

// What the router sorts by: logits, or with a bias the sigmoids plus the bias.
std::vector<double> scores_of(std::span<const float> logits, const float* bias) {
    std::vector<double> scores(logits.begin(), logits.end());
    if (bias == nullptr) return scores;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = 1 / (1 + std::exp(-scores[i])) + static_cast<double>(bias[i]);
    }
    return scores;
}

double deviation(const std::vector<double>& values) {
    const double n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / n);
}

void add_choice(Routing& routing, const std::vector<double>& scores, std::size_t used) {
    Choice order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    const double spread = deviation(scores);
    if (used < order.size() && spread > 0) {
        const auto at = [&](std::size_t i) { return scores[static_cast<std::size_t>(order[i])]; };
        routing.margins.push_back((at(used - 1) - at(used)) / spread);
    }
    order.resize(std::min(used, order.size()));
    routing.choices.push_back(std::move(order));
}

Seen watch(Arm& arm, std::span<const std::int32_t> tokens) {
    const Config& c = arm.config;
    const auto blocks = static_cast<std::size_t>(c.n_blocks);
    Seen seen{std::vector<std::vector<double>>(2 * blocks), std::vector<Routing>(blocks)};
    arm.trace = [&](std::string_view name, std::int64_t block, std::span<const float> values) {
        const auto b = static_cast<std::size_t>(std::max<std::int64_t>(block, 0));
        if (name == "attn_norm" || name == "ffn_norm") {
            std::vector<double>& sums = seen.norms[2 * b + (name == "ffn_norm" ? 1 : 0)];
            sums.resize(values.size());
            for (std::size_t i = 0; i < values.size(); ++i) {
                sums[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
            }
        } else if (name == "ffn_moe_logits") {
            add_choice(seen.routing[b], scores_of(values, arm.weights.blocks[b].exp_probs_b),
                       static_cast<std::size_t>(c.n_experts_used));
        }
    };
    for (std::size_t p = 0; p < tokens.size(); ++p) {
        forward(arm, tokens[p], static_cast<std::int64_t>(p), Want::nothing);
    }
    arm.trace = nullptr;
    arm.pool.park();
    return seen;
}

void fill_outliers(WeightTraits& traits, const std::vector<std::vector<double>>& norms) {
    std::vector<double> largest;
    std::vector<int> outlying;
    for (const std::vector<double>& sums : norms) {
        if (sums.empty()) continue;
        std::vector<double> sizes;
        for (const double sum : sums) sizes.push_back(std::sqrt(sum));
        const double middle = median(sizes);
        outlying.resize(sizes.size());
        if (!(middle > 0)) continue;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            outlying[i] += sizes[i] >= kOutlier * middle ? 1 : 0;
        }
        largest.push_back(*std::max_element(sizes.begin(), sizes.end()) / middle);
    }
    if (largest.empty()) return;
    traits.largest_channel = median(largest);
    const double least = kOutlierNorms * static_cast<double>(largest.size());
    traits.outlier_channels =
        std::count_if(outlying.begin(), outlying.end(), [&](int n) { return n > 0 && n >= least; });
}

struct Load {
    double above_mean = 0, idle = 0;
};

Load load_of(const std::vector<Choice>& choices, std::size_t experts) {
    std::vector<double> load(experts);
    double all = 0;
    for (const Choice& choice : choices) {
        for (const std::int32_t expert : choice) load[static_cast<std::size_t>(expert)] += 1;
        all += static_cast<double>(choice.size());
    }
    const double mean = all / static_cast<double>(experts);
    return {*std::max_element(load.begin(), load.end()) / mean - 1,
            static_cast<double>(std::count(load.begin(), load.end(), 0.0)) /
                static_cast<double>(experts)};
}

// So many tokens that choose at random do not load all experts alike either.
double balanced_above_mean(std::size_t tokens, std::size_t experts, std::size_t used) {
    constexpr int kRounds = 50;
    std::uint64_t state = 1;
    double sum = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<Choice> choices(tokens);
        for (Choice& choice : choices) {
            while (choice.size() < used) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                const auto expert = static_cast<std::int32_t>((state >> 33) % experts);
                if (std::find(choice.begin(), choice.end(), expert) == choice.end()) {
                    choice.push_back(expert);
                }
            }
        }
        sum += load_of(choices, experts).above_mean;
    }
    return sum / kRounds;
}

// Over chance, which is one in so many experts.
double first_repeats(const std::vector<Choice>& choices, std::size_t experts) {
    if (choices.size() < 2) return 0;
    double same = 0;
    for (std::size_t i = 1; i < choices.size(); ++i) {
        same += choices[i].front() == choices[i - 1].front() ? 1 : 0;
    }
    return same / static_cast<double>(choices.size() - 1) * static_cast<double>(experts);
}

Choice sorted(Choice choice) {
    std::sort(choice.begin(), choice.end());
    return choice;
}

void fill_changes(WeightTraits& traits, const Seen& one, const Seen& other) {
    std::vector<bool> touched(static_cast<std::size_t>(traits.tokens));
    double changed = 0, all = 0;
    for (std::size_t b = 0; b < one.routing.size(); ++b) {
        const auto& mine = one.routing[b].choices;
        const auto& theirs = other.routing[b].choices;
        for (std::size_t t = 0; t < mine.size() && t < theirs.size(); ++t) {
            const bool differs = sorted(mine[t]) != sorted(theirs[t]);
            changed += differs ? 1 : 0;
            all += 1;
            if (differs) touched[t] = true;
        }
    }
    traits.changed_choices = all > 0 ? changed / all : 0;
    traits.changed_tokens = static_cast<double>(std::count(touched.begin(), touched.end(), true)) /
                            static_cast<double>(touched.size());
}

}  // namespace

WeightTraits weight_traits(Arm& arm, Arm& other, std::span<const std::int32_t> tokens) {
    const Config& c = arm.config;
    WeightTraits traits{.tokens = static_cast<std::int64_t>(tokens.size()), .blocks = c.n_blocks};
    const Seen seen = watch(arm, tokens);
    const Seen beside = watch(other, tokens);
    fill_outliers(traits, seen.norms);
    const auto experts = static_cast<std::size_t>(c.n_experts);
    std::vector<double> margins;
    for (const Routing& routing : seen.routing) {
        if (routing.choices.empty()) continue;
        const Load load = load_of(routing.choices, experts);
        const double repeats = first_repeats(routing.choices, experts);
        if (traits.routed_blocks == 0) traits.repeats_first_block = repeats;
        ++traits.routed_blocks;
        traits.load_above_mean += load.above_mean;
        traits.idle_experts += load.idle;
        traits.repeats_first += repeats;
        margins.insert(margins.end(), routing.margins.begin(), routing.margins.end());
    }
    if (traits.routed_blocks == 0) return traits;
    const auto blocks = static_cast<double>(traits.routed_blocks);
    for (double* sum : {&traits.load_above_mean, &traits.idle_experts, &traits.repeats_first}) {
        *sum /= blocks;
    }
    traits.experts = c.n_experts;
    traits.used = c.n_experts_used;
    traits.balanced_above_mean =
        balanced_above_mean(tokens.size(), experts, static_cast<std::size_t>(c.n_experts_used));
    if (!margins.empty()) traits.margin = median(margins);
    fill_changes(traits, seen, beside);
    return traits;
}

}  // namespace steady
