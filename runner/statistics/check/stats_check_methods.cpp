// JSON forms of the summaries, distributions and classical tests.
#include "runner/statistics/check/stats_check_methods.h"

#include <fmt/core.h>

#include "kernels/base/error.h"
#include "runner/statistics/statistics_planning.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

using nlohmann::json;

namespace {

json exact_p(const ExactP& p) {
    return {{"p_greater", p.p_greater}, {"p_less", p.p_less}, {"p_two", p.p_two}};
}

json summary_method(const json& input, const json& expect) {
    const std::vector<double> x = numbers(input, "x");
    const Summary s = summarise(x);
    json out = {{"n", s.n},
                {"mean", number(s.mean)},
                {"median", number(s.median)},
                {"iqr", number(s.iqr)},
                {"mad_raw", number(s.mad_raw)},
                {"mad_sigma", number(s.mad_sigma)},
                {"sd_ddof1", number(s.sd)},
                {"sd_ddof0", number(sd(x, 0))},
                {"min", number(s.min)},
                {"max", number(s.max)}};
    for (const auto& [key, value] : expect.items())  // p10, p25, … any percentile asked for
        if (key.size() > 1 && key[0] == 'p' && key.find_first_not_of("0123456789.", 1) == key.npos)
            out[key] = number(quantile(x, std::stod(key.substr(1)) / 100));
    return out;
}

// The arm's values stand under a key that starts with its name and ends in the unit.
std::string arm_key(const json& input, const std::string& arm) {
    for (const auto& [key, value] : input.items())
        if (key.rfind(arm, 0) == 0 && value.is_array()) return key;
    throw Error(fmt::format("pair_log_ratio: no array {0} or {0}_<unit> in the input", arm));
}

bool is_rate(const json& input, const std::string& key) {
    if (input.contains("lower_is_better")) return !input["lower_is_better"].get<bool>();
    for (const char* unit : {"tps", "tok_s", "per_s", "rate", "gbps", "gflops"})
        if (key.find(unit) != key.npos) return true;
    return input.value("convention", "").find("candidate/baseline") != std::string::npos;
}

json pair_log_ratio_method(const json& input, const json&) {
    const std::string key = arm_key(input, "baseline");
    const std::vector<double> a = numbers(input, key.c_str());
    const std::vector<double> b = numbers(input, arm_key(input, "candidate").c_str());
    if (a.size() != b.size())
        throw Error(
            fmt::format("pair_log_ratio: {} baseline and {} candidate values", a.size(), b.size()));
    const std::vector<double> d = pair_log_ratio(a, b, !is_rate(input, key));
    return {{"d", numbers_json(d)},
            {"n", d.size()},
            {"mean", number(mean(d))},
            {"median", number(median(d))},
            {"speedup_geomean", number(std::exp(mean(d)))}};
}

json sign_flip_method(const json& input, const json&) {
    const std::vector<double> z = numbers(input, "z");
    const std::string statistic = input.value("statistic", "sum");
    if (statistic != "sum" && statistic != "mean")
        throw Error(fmt::format("sign_flip_exact: statistic {:?}; known: sum, mean", statistic));
    return exact_p(sign_flip_exact(z));
}

json wilcoxon_method(const json& input, const json&) {
    const SignedRank result = wilcoxon_exact(numbers(input, "z"));
    json out = exact_p(result.p);
    out["w_plus"] = result.w_plus;
    out["n_nonzero"] = result.n_nonzero;
    return out;
}

json wilcoxon_normal_method(const json& input, const json&) {
    const SignedRankNormal result = wilcoxon_normal(numbers(input, "z"));
    return {{"z_score", number(result.z_score)},
            {"p_greater", number(result.p_greater)},
            {"p_less", number(result.p_less)},
            {"p_two", number(result.p_two)}};
}

json wilcoxon_critical_method(const json& input, const json& expect) {
    json out = json::object();
    for (const auto& [alpha, value] : expect.items()) {
        const auto critical = wilcoxon_critical(input.at("n").get<std::size_t>(), std::stod(alpha));
        out[alpha] = {{"w_crit", critical ? number(critical->w) : json(nullptr)},
                      {"attained", critical ? number(critical->attained) : json(nullptr)}};
    }
    return out;
}

json mann_whitney_method(const json& input, const json& expect) {
    // Which of the two forms is meant may stand on either side of the vector.
    std::string method = input.value("method", expect.value("method", "auto"));
    const RankSum result = mann_whitney(numbers(input, "x"), numbers(input, "y"),
                                        input.value("use_continuity", true), method);
    return {{"U_x", number(result.u_x)},
            {"U_y", number(real(input["x"].size()) * real(input["y"].size()) - result.u_x)},
            {"p_two", number(result.p_two)},
            {"p_x_greater", number(result.p_x_greater)},
            {"p_x_less", number(result.p_x_less)},
            {"method", result.method.empty() ? json(nullptr) : json(result.method)}};
}

json t_json(const TTest& t) {
    return {{"t", number(t.t)},
            {"df", number(t.df)},
            {"p_two", number(t.p_two)},
            {"p_greater", number(t.p_greater)},
            {"p_less", number(t.p_less)}};
}

json one_sample_t_method(const json& input, const json&) {
    double mu = 0;
    for (const char* key : {"mu", "mu0", "popmean", "theta0"}) mu = input.value(key, mu);
    return t_json(one_sample_t(numbers(input, "z"), mu));
}

json t_quantile_method(const json& input, const json& expect) {
    json table = json::object();
    const std::vector<double> p = numbers(input, "p");
    for (const auto& [df, value] : expect.at("table").items()) {
        std::vector<double> row;
        for (double one : p) row.push_back(t_quantile(one, std::stod(df)));
        table[df] = numbers_json(row);
    }
    return {{"table", table}};
}

json tost_method(const json& input, const json&) {
    const Tost tost = tost_t(numbers(input, "z"), input.at("lower"), input.at("upper"));
    return {{"p_lower", number(tost.p_lower)},
            {"p_upper", number(tost.p_upper)},
            {"p_tost", number(tost.p_tost)}};
}

json hodges_lehmann_method(const json& input, const json&) {
    const HodgesLehmann result = hodges_lehmann(numbers(input, "z"), input.value("conf", 0.95));
    return {{"estimate", number(result.estimate)},
            {"lower", number(result.lower)},
            {"upper", number(result.upper)},
            {"n_walsh", result.n_walsh},
            {"k", optional_json(result.k)}};
}

json median_randomisation_method(const json& input, const json&) {
    const MedianRandomisation result =
        median_randomisation(numbers(input, "x"), numbers(input, "y"));
    return {{"obs", number(result.obs)},
            {"p", number(result.p)},
            {"q95", number(result.q95)},
            {"n_relabelings", result.n_relabelings}};
}

json mapped(const std::vector<double>& x, double (*function)(double)) {
    std::vector<double> y;
    for (double value : x) y.push_back(function(value));
    return numbers_json(y);
}

}  // namespace

const std::map<std::string, Method>& stats_methods() {
    static const std::map<std::string, Method> methods = [] {
        std::map<std::string, Method> all;
        add_test_methods(all);
        add_planning_methods(all);
        add_series_methods(all);
        return all;
    }();
    return methods;
}

void add_test_methods(std::map<std::string, Method>& methods) {
    methods["summary"] = summary_method;
    methods["pair_log_ratio"] = pair_log_ratio_method;
    methods["sign_flip_exact"] = sign_flip_method;
    methods["wilcoxon_signed_rank_exact"] = wilcoxon_method;
    methods["wilcoxon_signed_rank_normal"] = wilcoxon_normal_method;
    methods["wilcoxon_critical_value"] = wilcoxon_critical_method;
    methods["mann_whitney_u"] = mann_whitney_method;
    methods["welch_t"] = [](const json& input, const json&) {
        return t_json(welch_t(numbers(input, "x"), numbers(input, "y")));
    };
    methods["one_sample_t"] = one_sample_t_method;
    methods["t_quantile"] = t_quantile_method;
    methods["normal_quantile"] = [](const json& input, const json&) {
        return json{{"z", mapped(numbers(input, "p"), normal_quantile)}};
    };
    methods["normal_cdf"] = [](const json& input, const json&) {
        const std::vector<double> z = numbers(input, "z");
        return json{{"cdf", mapped(z, normal_cdf)}, {"sf", mapped(z, normal_sf)}};
    };
    methods["hodges_lehmann_ci"] = hodges_lehmann_method;
    methods["tost_t"] = tost_method;
    methods["median_randomisation_exhaustive"] = median_randomisation_method;
}

}  // namespace steady
