// Pair values and evidence of one recorded metric. Numbers are rounded as the corpus rounds them,
// so that both can be compared field by field.
#include "runner/statistics/check/replay_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/statistics/check/stats_check_methods.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

using nlohmann::json;

namespace {

// Spread of a pair in the recorded journal, by what the metric's name says it measures.
std::optional<double> known_sigma(const std::string& name) {
    if (name.find("full_block") != name.npos) return 0.1622;
    if (name.find("feed_forward") != name.npos) return 0.0345;
    if (name.find("full_model") != name.npos) return 0.0172;
    return std::nullopt;
}

double rounded(double value, int digits) {
    const double scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}

json rounded_list(const std::vector<double>& values) {
    json list = json::array();
    for (double value : values) list.push_back(rounded(value, 5));
    return list;
}

json within_run_fields(const std::string& name, Values a, Values b, bool lower_is_better) {
    const double log_ratio = std::log(median(a) / median(b));
    return {{"metric", name},
            {"n_pairs", 1},
            {"mean_A", rounded(mean(a), 5)},
            {"mean_B", rounded(mean(b), 5)},
            {"median_A", rounded(median(a), 5)},
            {"median_B", rounded(median(b), 5)},
            {"log_speedup_of_run_medians", rounded(lower_is_better ? log_ratio : -log_ratio, 5)},
            {"mann_whitney_two_sided_p_within_run", rounded(mann_whitney(a, b).p_two, 5)},
            {"note",
             "tokens inside one run share one process/drift state: they are ONE pair, the p-value "
             "is descriptive only"}};
}

void add_evidence(ReplayedMetric& metric, const ReplayRule& rule) {
    const double sigma = *metric.sigma_d;
    const std::vector<double> scales = bet_scales(metric.d, sigma, rule.betting);
    const auto e = [&](double theta, Side side) {
        return std::exp(log_e(metric.d, scales, theta, side, rule.betting));
    };
    metric.e_faster = e(0, Side::at_most);
    metric.e_slower = e(0, Side::at_least);
    metric.pairs_for_power = metric.mean_log == 0
                                 ? std::numeric_limits<double>::infinity()
                                 : std::max(10.0, pairs_needed(sigma, std::abs(metric.mean_log)));
    json& fields = metric.fields;
    fields["sigma_d_used"] = sigma;
    fields["effect_over_sigma"] = rounded(metric.mean_log / sigma, 3);
    fields["E_faster_theta0"] = rounded(metric.e_faster, 4);
    fields["E_slower_theta0"] = rounded(metric.e_slower, 4);
    fields["E_gain_below_1pct"] = rounded(e(rule.delta_w, Side::at_least), 4);
    fields["threshold_accept"] = rounded(2 / rule.alpha, 9);
    fields["threshold_reject"] = rounded(2 / rule.beta, 9);
    fields["pairs_for_95pct_power_at_this_effect"] = number(metric.pairs_for_power);
}

void fill_paired(ReplayedMetric& metric, const ReplayRule& rule) {
    const ExactP p = sign_flip_exact(metric.d);
    metric.mean_log = mean(metric.d);
    metric.fields = {{"metric", metric.name},
                     {"n_pairs", metric.n_pairs},
                     {"log_speedup", rounded_list(metric.d)},
                     {"mean_log_speedup", rounded(metric.mean_log, 5)},
                     {"speedup_geomean", rounded(std::exp(metric.mean_log), 5)},
                     {"signflip_p_faster", p.p_greater},
                     {"signflip_p_slower", p.p_less},
                     {"best_attainable_p", std::pow(0.5, real(metric.n_pairs))}};
    if (metric.sigma_d) add_evidence(metric, rule);
}

std::vector<double> recorded(const json& metric, const char* arm) {
    const auto found = metric.find(arm);
    if (found == metric.end() || !found->is_array()) return {};
    return numbers(metric, arm);
}

}  // namespace

RuleParams ReplayRule::params(double sigma_d) const {
    RuleParams params;
    params.sigma0 = sigma_d;
    params.alpha = alpha;
    params.beta = beta;
    params.delta_w = delta_w;
    params.betting = betting;
    return params;
}

ReplayRule replay_rule(const json& source) {
    ReplayRule rule;
    rule.betting = betting_from(source);
    if (source.contains("accept_E")) rule.alpha = 2 / source["accept_E"].get<double>();
    if (source.contains("reject_E")) rule.beta = 2 / source["reject_E"].get<double>();
    return rule;
}

std::optional<ReplayedMetric> replay_metric(const json& source, const ReplayRule& rule) {
    const std::vector<double> a = recorded(source, "A"), b = recorded(source, "B");
    if (a.empty() || b.empty() || source.value("stat", json("")) == "exact") return std::nullopt;
    ReplayedMetric metric;
    metric.name = source.at("name").get<std::string>();
    metric.sigma_d = known_sigma(metric.name);
    const bool lower_is_better = source.value("lower_is_better", true);
    if (source.value("within_run", false)) {
        metric.n_pairs = 1;
        metric.fields = within_run_fields(metric.name, a, b, lower_is_better);
        return metric;
    }
    metric.n_pairs = std::min(a.size(), b.size());
    if (a.size() != b.size()) {
        const double log_ratio = std::log(median(a) / median(b));
        metric.fields = {
            {"metric", metric.name},
            {"n_pairs", metric.n_pairs},
            {"note", fmt::format("unequal numbers of runs; log speedup of medians = {}",
                                 rounded(lower_is_better ? log_ratio : -log_ratio, 5))}};
        return metric;
    }
    metric.d = pair_log_ratio(a, b, lower_is_better);
    if (std::any_of(metric.d.begin(), metric.d.end(), [](double d) { return !std::isfinite(d); }))
        return std::nullopt;
    fill_paired(metric, rule);
    return metric;
}

bool tokens_drift(const json& metric) {
    if (!metric.value("within_run", false)) return false;
    if (metric.value("name", "").find("token") == std::string::npos) return false;
    for (const char* arm : {"A", "B"}) {
        const std::vector<double> y = recorded(metric, arm);
        if (y.size() >= 3 && y.size() < 16 && y.back() / y.front() > 1.10) return true;
    }
    return false;
}

}  // namespace steady
