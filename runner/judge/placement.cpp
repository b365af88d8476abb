// A permutation test: it needs no distribution, and with three pairs in a block no approximation
// would hold. The permutations are the same at every call, so that a record renders the same text.
#include "runner/judge/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>

#include "runner/judge/analysis_text.h"

namespace steady {
namespace {

constexpr int kPermutations = 4999;
constexpr std::uint64_t kSeed = 30;
constexpr double kPlacementP = 0.01;
constexpr std::size_t kFewestPerPlacement = 2;

// Σ n_g · mean_g²: the part of the sum of squares that lies between groups, up to a constant.
double between(Values d, const std::vector<std::size_t>& group, std::size_t n_groups) {
    std::vector<double> sum(n_groups), n(n_groups);
    for (std::size_t i = 0; i < d.size(); ++i) {
        sum[group[i]] += d[i];
        n[group[i]] += 1;
    }
    double total = 0;
    for (std::size_t g = 0; g < n_groups; ++g) total += sum[g] * sum[g] / n[g];
    return total;
}

double permutation_p(Values d, const std::vector<std::size_t>& group, std::size_t n_groups) {
    const double seen = between(d, group, n_groups);
    std::vector<double> shuffled(d.begin(), d.end());
    std::mt19937_64 random(kSeed);
    int as_far = 1;
    for (int i = 0; i < kPermutations; ++i) {
        for (std::size_t k = shuffled.size() - 1; k > 0; --k) {
            std::swap(shuffled[k], shuffled[random() % (k + 1)]);
        }
        as_far += between(shuffled, group, n_groups) >= seen - 1e-15 ? 1 : 0;
    }
    return static_cast<double>(as_far) / (kPermutations + 1);
}

// The component of variance between groups (method of moments, unequal sizes), as a deviation.
double spread_between(const std::vector<std::vector<double>>& groups, std::size_t n) {
    double within = 0, sum = 0, squares = 0, sizes = 0;
    for (const auto& group : groups) {
        within += variance(group, 0) * real(group.size());
        sum += mean(group) * real(group.size());
        sizes += real(group.size()) * real(group.size());
    }
    const double centre = sum / real(n), k = real(groups.size());
    for (const auto& group : groups)
        squares += real(group.size()) * (mean(group) - centre) * (mean(group) - centre);
    const double noise = within / (real(n) - k);
    const double size = (real(n) - sizes / real(n)) / (k - 1);
    return std::sqrt(std::max(0.0, (squares / (k - 1) - noise) / size));
}

}  // namespace

std::optional<double> placement_of(const Pair& pair) {
    const auto found = pair.a.find(kPlacement);
    if (found == pair.a.end() || found->second.empty()) return std::nullopt;
    return found->second.front();
}

std::optional<PlacementSpread> placement_spread(Values d, Values placement, double matters) {
    if (d.size() != placement.size()) return std::nullopt;
    std::vector<double> ids;
    std::map<double, std::vector<double>> by_id;
    for (std::size_t i = 0; i < d.size(); ++i) {
        if (!by_id.contains(placement[i])) ids.push_back(placement[i]);
        by_id[placement[i]].push_back(d[i]);
    }
    std::vector<std::vector<double>> groups;
    for (const double id : ids)
        if (by_id[id].size() >= kFewestPerPlacement) groups.push_back(by_id[id]);
    if (groups.size() < 2) return std::nullopt;
    PlacementSpread out;
    std::vector<double> flat;
    std::vector<std::size_t> group_of;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        out.medians.push_back(median(groups[g]));
        out.pairs.push_back(static_cast<int>(groups[g].size()));
        flat.insert(flat.end(), groups[g].begin(), groups[g].end());
        group_of.insert(group_of.end(), groups[g].size(), g);
    }
    out.spread = spread_between(groups, flat.size());
    out.p = permutation_p(flat, group_of, groups.size());
    const auto [low, high] = std::minmax_element(out.medians.begin(), out.medians.end());
    out.depends = (out.p < kPlacementP) && (*high - *low > matters);
    return out;
}

std::string placement_words(const std::optional<PlacementSpread>& spread) {
    if (!spread || !spread->depends) return "";
    const auto [low, high] = std::minmax_element(spread->medians.begin(), spread->medians.end());
    return fmt::format("depends on placement: {} to {} on {} placements of the weights (p {:.2g})",
                       percent(std::expm1(*low)), percent(std::expm1(*high)),
                       spread->medians.size(), spread->p);
}

}  // namespace steady
