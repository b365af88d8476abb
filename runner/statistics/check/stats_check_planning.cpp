// JSON forms of the planning statistics: error budgets, bounds, bootstrap, two-level variance.
#include <fmt/core.h>

#include "kernels/base/error.h"
#include "runner/statistics/check/stats_check_methods.h"
#include "runner/statistics/statistics_planning.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {

using nlohmann::json;

namespace {

json clopper_pearson_method(const json& input, const json&) {
    const ClopperPearson bounds =
        clopper_pearson(input.at("k"), input.at("n"), input.value("conf", 0.95));
    return {{"lower_one_sided", number(bounds.lower_one_sided)},
            {"upper_one_sided", number(bounds.upper_one_sided)},
            {"lower_two", number(bounds.lower_two)},
            {"upper_two", number(bounds.upper_two)}};
}

json bca_method(const json& input, const json&) {
    std::size_t resamples = 200000;
    if (input.contains("resamples") && input["resamples"].is_number())
        resamples = input["resamples"].get<std::size_t>();
    const Bca bca = bca_bootstrap_mean(numbers(input, "z"), input.value("conf", 0.95), resamples);
    return {{"theta", number(bca.theta)},
            {"z0", number(bca.z0)},
            {"a", number(bca.a)},
            {"levels", {number(bca.level_low), number(bca.level_high)}},
            {"ci", {number(bca.low), number(bca.high)}}};
}

json min_pairs_method(const json& input, const json&) {
    json n = json::array();
    for (double alpha : numbers(input, "alphas")) n.push_back(min_pairs_sign_flip(alpha));
    return {{"sign_flip_min_n", n}};
}

json e_lond_method(const json& input, const json&) {
    const std::string gamma = input.value("gamma", "6/(pi^2 t^2)");
    if (gamma != "6/(pi^2 t^2)")
        throw Error(fmt::format("e_lond: gamma {:?}; known: 6/(pi^2 t^2)", gamma));
    const ELond result = e_lond(numbers(input, "e"), input.at("alpha"));
    return {{"level", numbers_json(result.level)}, {"reject", result.reject}};
}

json mde_method(const json& input, const json& expect) {
    const double sigma_d = input.at("sigma_d"), k = input.value("k", 5.0);
    json out = {{"mde", number(mde95(sigma_d, input.at("n_max"), k))}};
    const std::string prefix = "n_needed_for_";
    for (const auto& [key, value] : expect.items())  // n_needed_for_1pct, …_0.5pct, …
        if (key.rfind(prefix, 0) == 0)
            out[key] = pairs_needed(sigma_d, 0.01 * std::stod(key.substr(prefix.size())), k);
    return out;
}

json kalibera_jones_method(const json& input, const json&) {
    const auto data = input.at("data").get<std::vector<std::vector<double>>>();
    const TwoLevel result = kalibera_jones(data, input.at("cost_iteration"),
                                           input.at("cost_process"), input.value("conf", 0.95));
    return {{"S1_sq", number(result.s1_sq)},
            {"S2_sq", number(result.s2_sq)},
            {"T1_sq", number(result.t1_sq)},
            {"T2_sq", number(result.t2_sq)},
            {"r1_opt", optional_json(result.r1_opt)},
            {"mean", number(result.mean)},
            {"ci_half_width", number(result.ci_half_width)}};
}

}  // namespace

void add_planning_methods(std::map<std::string, Method>& methods) {
    methods["clopper_pearson"] = clopper_pearson_method;
    methods["bca_bootstrap_mean"] = bca_method;
    methods["min_pairs_to_accept"] = min_pairs_method;
    methods["e_lond"] = e_lond_method;
    methods["e_bh"] = [](const json& input, const json&) {
        return json{{"rejected_indices", e_bh(numbers(input, "e"), input.at("alpha"))}};
    };
    methods["holm"] = [](const json& input, const json&) {
        return json{{"adjusted", numbers_json(holm(numbers(input, "p")))}};
    };
    methods["lan_demets_spending"] = [](const json& input, const json&) {
        const Spending spent = lan_demets(input.at("t"), input.at("alpha"));
        return json{{"obf", number(spent.obrien_fleming)}, {"pocock", number(spent.pocock)}};
    };
    methods["wald_sprt"] = [](const json& input, const json&) {
        const Sprt bounds = wald_sprt(input.at("alpha"), input.at("beta"));
        return json{{"log_upper", number(bounds.log_upper)},
                    {"log_lower", number(bounds.log_lower)}};
    };
    methods["mde95"] = mde_method;
    methods["kalibera_jones_two_level"] = kalibera_jones_method;
}

}  // namespace steady
