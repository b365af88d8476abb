// Assumption checks. Thresholds are judgement unless the README derives them; all of them treat
// both arms alike.
#include "runner/judge/analysis_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/judge/analysis_text.h"
#include "runner/judge/machine_state.h"
#include "runner/plan/schedule.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

namespace {

constexpr double kFlagP = 0.01;
constexpr double kCoinRangeP = 0.001;
constexpr std::size_t kFewestUnits = 10;

Check not_measured(const std::string& name, const std::string& why) {
    return {name, "not_measured", why};
}

// P of a count at least this far from n/2, both sides.
double balance_p(double ones, double n) {
    const double z = (std::abs(ones - n / 2) - 0.5) / std::sqrt(n / 4);
    return n > 0 ? std::min(1.0, 2 * normal_sf(z)) : 1;
}

// ln y of each arm without the arm's median over the steady part, by token index.
struct Residuals {
    std::vector<double> a, b;
    std::size_t chunk = 1;
    std::size_t first_block = 0;
};

std::optional<Residuals> residuals(const MeasuredPairs::One& one, const std::string& raw,
                                   const ScheduleSpec& schedule) {
    const auto a = one.pair->a.find(raw), b = one.pair->b.find(raw);
    if (a == one.pair->a.end() || b == one.pair->b.end()) return std::nullopt;
    const auto chunk = static_cast<std::size_t>(std::max(1, schedule.chunk));
    const std::size_t wanted = one.pair->coins.size() * chunk;
    if (a->second.size() != wanted || b->second.size() != wanted) return std::nullopt;
    const auto positive = [](double value) { return value > 0; };
    if (!std::all_of(a->second.begin(), a->second.end(), positive) ||
        !std::all_of(b->second.begin(), b->second.end(), positive))
        return std::nullopt;
    Residuals result{{}, {}, chunk, (one.quality.start_a + chunk - 1) / chunk};
    const auto centred = [&](const std::vector<double>& y, std::vector<double>& x) {
        for (double value : y) x.push_back(std::log(value));
        const double level = median(Values(x).subspan(std::min(one.quality.start_a, x.size() - 1)));
        for (double& value : x) value -= level;
    };
    centred(a->second, result.a);
    centred(b->second, result.b);
    return result;
}

// Permutation test within strata: responses against a binary label, by the exact mean and variance
// of the permutation distribution and its normal limit.
struct Stratum {
    std::vector<double> response;
    std::vector<bool> label;
};

struct Contrast {
    double effect = 0, p = 1;
    std::size_t n = 0;
};

Contrast permutation_contrast(const std::vector<Stratum>& strata) {
    double score = 0, variance = 0, weight = 0;
    Contrast contrast;
    for (const Stratum& stratum : strata) {
        const double n = real(stratum.response.size());
        const double n_true = real(
            static_cast<std::size_t>(std::count(stratum.label.begin(), stratum.label.end(), true)));
        contrast.n += stratum.response.size();
        if (n < 2 || n_true == 0 || n_true == n) continue;
        const double centre = mean(stratum.response);
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < stratum.response.size(); ++i) {
            if (stratum.label[i]) sum += stratum.response[i] - centre;
            squares += (stratum.response[i] - centre) * (stratum.response[i] - centre);
        }
        score += sum;
        weight += n_true * (n - n_true) / n;
        variance += n_true * (n - n_true) / (n * (n - 1)) * squares;
    }
    if (!(variance > 0)) return contrast;
    contrast.effect = score / weight;
    contrast.p = 2 * normal_sf(std::abs(score) / std::sqrt(variance));
    return contrast;
}

void clip_outliers(std::vector<double>& x) {
    const double centre = median(x), spread = kMadToSigma * mad(x);
    if (!(spread > 0)) return;
    for (double& value : x) value = std::clamp(value, centre - 3 * spread, centre + 3 * spread);
}

}  // namespace

Check coin_audit(const Spec& spec, const std::vector<Pair>& pairs, std::uint64_t seed) {
    const Plan plan = make_plan(spec, {});
    for (const Pair& pair : pairs) {
        const auto n = static_cast<int>(pair.coins.size());
        const Pair again =
            draw_pair(spec, n, seed, pair.gate, pair.kind, pair.number, pair.attempt);
        if (again.coins == pair.coins) continue;
        return {"coin_audit", "fail",
                fmt::format("the order of pair {} (gate {}, try {}) does not follow from the seed",
                            pair.number, pair.gate, pair.attempt)};
    }
    double ones = 0, n = 0;
    for (const Pair& pair : make_schedule(spec, plan, seed)) {
        ones += static_cast<double>(std::count(pair.coins.begin(), pair.coins.end(), '1'));
        n += real(pair.coins.size());
    }
    const bool fair = balance_p(ones, n) >= kCoinRangeP;
    return {"coin_audit", fair ? "ok" : "fail",
            fmt::format("{} pairs follow from seed {}; of {:.0f} planned coins {:.0f} put B first",
                        pairs.size(), seed, n, ones)};
}

std::uint64_t fair_seed(const Spec& spec, std::uint64_t seed) {
    while (coin_audit(spec, {}, seed).status == "fail") ++seed;
    return seed;
}

Check carry_over(const MeasuredPairs& measured, const std::string& metric,
                 const ScheduleSpec& schedule) {
    std::vector<Stratum> strata(2);  // by the arm that runs first in the block
    for (const MeasuredPairs::One* one : measured.valid) {
        const auto x = residuals(*one, raw_metric(metric), schedule);
        if (!x) continue;
        for (std::size_t block = std::max<std::size_t>(1, x->first_block);
             block < one->pair->coins.size(); ++block) {
            const bool b_now = one->pair->coins[block] == '1';
            const bool b_before = one->pair->coins[block - 1] == '0';  // second slot of that block
            Stratum& stratum = strata[b_now ? 1 : 0];
            stratum.response.push_back((b_now ? x->b : x->a)[block * x->chunk]);
            stratum.label.push_back(b_before);
        }
    }
    for (Stratum& stratum : strata) clip_outliers(stratum.response);
    const Contrast contrast = permutation_contrast(strata);
    if (contrast.n < 4 * kFewestUnits) return not_measured("carry_over", "too few blocks");
    const bool flagged = contrast.p < kFlagP;
    return {"carry_over", flagged ? "flag" : "ok",
            fmt::format("a slot after B starts {} slower than after A (p {:.3g}, {} slots){}",
                        percent(contrast.effect), contrast.p, contrast.n,
                        flagged ? "; ask again with floor 0.2 % and leave out first tokens" : "")};
}

Check order_effect(const MeasuredPairs& measured, const std::string& metric,
                   const ScheduleSpec& schedule) {
    std::vector<double> ab, ba, differences;
    for (const MeasuredPairs::One* one : measured.valid) {
        if (one->pair->coins.size() == 1) {  // process pairs: the pair is the unit
            const auto d = measured.value_of(*one, metric);
            if (d) (one->pair->coins[0] == '0' ? ab : ba).push_back(*d);
            continue;
        }
        const auto x = residuals(*one, raw_metric(metric), schedule);
        if (!x) continue;
        std::vector<double> within_ab, within_ba;
        for (std::size_t block = x->first_block; block < one->pair->coins.size(); ++block) {
            const Values a = Values(x->a).subspan(block * x->chunk, x->chunk);
            const Values b = Values(x->b).subspan(block * x->chunk, x->chunk);
            (one->pair->coins[block] == '0' ? within_ab : within_ba)
                .push_back(median(a) - median(b));
        }
        if (!within_ab.empty() && !within_ba.empty())
            differences.push_back(median(within_ab) - median(within_ba));
    }
    double effect = kUndefined, p = 1;
    std::size_t n = differences.size();
    if (n >= kFewestUnits) {
        effect = hodges_lehmann_estimate(differences);
        p = wilcoxon_exact(differences).p.p_two;
    } else if (std::min(ab.size(), ba.size()) >= kFewestUnits / 2) {
        n = ab.size() + ba.size();
        effect = hodges_lehmann_estimate(ab) - hodges_lehmann_estimate(ba);
        p = mann_whitney(ab, ba).p_two;
    } else {
        return not_measured("order_effect", "too few pairs");
    }
    return {"order_effect", p < kFlagP ? "flag" : "ok",
            fmt::format("B looks {} better when it runs second (p {:.3g}, {} pairs)",
                        percent(effect), p, n)};
}

Check pair_drift(const std::vector<double>& d) {
    if (d.size() < kFewestUnits) return not_measured("drift", "too few pairs");
    const double total = theil_sen(d) * real(d.size() - 1), p = kendall_p(d);
    const double centre = mean(d);
    double now = 0, lagged = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
        now += (d[i] - centre) * (d[i] - centre);
        if (i > 0) lagged += (d[i] - centre) * (d[i - 1] - centre);
    }
    return {"drift", p < kFlagP ? "flag" : "ok",
            fmt::format("the effect moved by {} from first to last pair (p {:.3g}); lag-1 "
                        "autocorrelation {:.2f}",
                        percent(total), p, now > 0 ? lagged / now : 0)};
}

Check bimodality(const std::vector<double>& d, double sigma_aa) {
    if (d.size() < kFewestUnits || !(sigma_aa > 0))
        return not_measured("bimodality", "too few pairs");
    std::vector<double> sorted = d;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t least = std::max<std::size_t>(2, sorted.size() / 5);
    double distance = 0, best = std::numeric_limits<double>::infinity();
    for (std::size_t cut = least; cut + least <= sorted.size(); ++cut) {
        const Values low = Values(sorted).first(cut), high = Values(sorted).subspan(cut);
        const double error =
            variance(low, 0) * real(low.size()) + variance(high, 0) * real(high.size());
        if (error >= best) continue;
        best = error;
        distance = median(high) - median(low);
    }
    const double within = std::sqrt(best / real(sorted.size()));
    const bool flagged = distance > 3 * sigma_aa && distance > 4 * within;
    return {"bimodality", flagged ? "flag" : "ok",
            fmt::format("the two halves that fit best lie {} apart, {:.1f} A/A spreads",
                        percent(distance), distance / sigma_aa)};
}

Check bimodality_by_speed(const std::vector<double>& d, const std::vector<double>& slowness,
                          double sigma_aa, double matters) {
    Check check = bimodality(d, sigma_aa);
    const auto groups = speed_groups(d, slowness, matters);
    if (!groups) return check;
    const std::string alone = check.status == "not_measured" ? "" : check.detail + "; ";
    if (check.status == "not_measured") check.status = "ok";
    if (groups->apart) check.status = "flag";
    check.detail = fmt::format(
        "{}{} in the {} pairs of a fast machine, {} in the {} of a slow one "
        "(p {:.2g})",
        alone, percent(std::expm1(groups->fast)), groups->n_fast, percent(std::expm1(groups->slow)),
        groups->n_slow, groups->p);
    return check;
}

std::optional<Check> zeros(const MeasuredPairs& measured, const std::string& metric) {
    const auto some = [&](const std::map<std::string, std::vector<double>>& arm) {
        const auto found = arm.find(metric);
        return found != arm.end() && std::any_of(found->second.begin(), found->second.end(),
                                                 [](double value) { return value > 0; });
    };
    std::size_t n = 0;
    for (const MeasuredPairs::One* one : measured.valid)
        if (some(one->pair->a) != some(one->pair->b)) ++n;
    if (n == 0) return std::nullopt;
    return Check{"zeros", "flag",
                 fmt::format("{} of {} pairs are zero against more, which has no ratio; each "
                             "counts as a factor of e, so read the direction, not the size",
                             n, measured.valid.size())};
}

Check outliers(const std::vector<double>& d) {
    if (d.size() < kFewestUnits) return not_measured("outliers", "too few pairs");
    const double centre = median(d), spread = kMadToSigma * mad(d);
    const auto far = static_cast<double>(std::count_if(
        d.begin(), d.end(), [&](double value) { return std::abs(value - centre) > 5 * spread; }));
    const double share = spread > 0 ? far / real(d.size()) : 0;
    return {"outliers", share > 0.20 ? "flag" : "ok",
            fmt::format("{:.0f} of {} pairs lie further than five spreads out", far, d.size())};
}

}  // namespace steady
