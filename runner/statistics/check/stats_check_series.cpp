// JSON forms of the evidence, the verdict, warm-up detection and change points.
#include <algorithm>

#include "runner/statistics/change_points.h"
#include "runner/statistics/check/replay.h"
#include "runner/statistics/check/stats_check_methods.h"
#include "runner/statistics/steady_state.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {

using nlohmann::json;

Betting betting_from(const json& input) {
    Betting betting;
    if (input.contains("etas")) betting.etas = numbers(input, "etas");
    betting.clip = input.value("clip", betting.clip);
    betting.cap = input.value("cap", betting.cap);
    betting.prior_n = input.value("prior_n", betting.prior_n);
    return betting;
}

namespace {

Side side_from(const json& input) {
    return input.value("side", 1) < 0 ? Side::at_least : Side::at_most;
}

json e_process_method(const json& input, const json&) {
    const Betting betting = betting_from(input);
    const std::vector<double> d = numbers(input, "d");
    const std::vector<double> scales = bet_scales(d, input.at("sigma0"), betting);
    const std::vector<double> path =
        log_e_path(d, scales, input.value("theta0", 0.0), side_from(input), betting);
    return {{"log_e", numbers_json(path)},
            {"scale", numbers_json(scales)},
            {"e_final", number(path.empty() ? 1 : std::exp(path.back()))}};
}

json mean_e_method(const json& input, const json&) {
    return {{"mean_E", number(mean_e_over_sign_flips(numbers(input, "abs_d"),
                                                     input.value("theta0", 0.0), input.at("sigma0"),
                                                     side_from(input), betting_from(input)))}};
}

const char* in_capitals(Decision decision) {
    switch (decision) {
        case Decision::accept:
            return "ACCEPT";
        case Decision::reject:
            return "REJECT";
        case Decision::inconclusive:
            return "INCONCLUSIVE";
    }
    return "";
}

json verdict_method(const json& input, const json&) {
    RuleParams params;
    params.sigma0 = input.at("sigma0");
    params.alpha = input.value("alpha", params.alpha);
    params.beta = input.value("beta", params.beta);
    params.theta0 = input.value("theta0", params.theta0);
    params.delta_w = input.value("delta_w", params.delta_w);
    params.n_max = input.value("n_max", params.n_max);
    params.cs_alpha = input.value("cs_alpha", params.cs_alpha);
    params.betting = betting_from(input);
    const RuleOutcome outcome = decide_gain(numbers(input, "d"), params);
    return {{"verdict", in_capitals(outcome.decision)},
            {"sub", outcome.sub.empty() ? json(nullptr) : json(capitals(outcome.sub))},
            {"why", outcome.why},
            {"n_pairs", outcome.n_pairs},
            {"log_e_accept", number(outcome.log_e_accept)},
            {"log_e_reject", number(outcome.log_e_reject)},
            {"log_e_regression", number(outcome.log_e_regression)},
            {"final_p_accept", optional_json(outcome.final_p_accept)},
            {"final_p_reject", optional_json(outcome.final_p_reject)},
            {"hl_log_speedup", number(outcome.hl)},
            {"cs95_low", optional_json(outcome.bounds.low)},
            {"cs95_high", optional_json(outcome.bounds.high)}};
}

json steady_state_method(const json& input, const json&) {
    SteadyOptions options;
    options.k = input.value("k", options.k);
    options.minseg = input.value("minseg", options.minseg);
    options.tol_min = input.value("tol_min", options.tol_min);
    options.need = input.value("need", options.need);
    options.frac = input.value("frac", options.frac);
    options.drift_min = input.value("drift_min", options.drift_min);
    options.drift_p = input.value("drift_p", options.drift_p);
    const SteadyState state = detect_steady_state(numbers(input, "y"), options);
    return {{"start", state.start},
            {"cls", name(state.cls)},
            {"segments", state.segments},
            {"scale", number(state.scale)},
            {"drift_total", number(state.drift_total)},
            {"kendall_p", number(state.kendall_p)},
            {"drifting", state.drifting},
            {"median_steady", number(state.median_steady)}};
}

json change_points_method(const json& input, const json&) {
    ChangePointOptions options;
    options.log_transform = input.value("transform", "ln") == "ln";
    options.k = input.value("k", options.k);
    options.minseg = input.value("minseg", options.minseg);
    options.alpha = input.value("alpha", options.alpha);
    options.min_magnitude = input.value("min_magnitude", options.min_magnitude);
    const ChangePoints result = robust_change_points(numbers(input, "y"), options);
    return {{"scale", number(result.scale)},
            {"beta", number(result.beta)},
            {"pelt", result.pelt},
            {"change_points", result.change_points},
            {"segment_medians", numbers_json(result.segment_medians)},
            {"pvalues", numbers_json(result.pvalues)}};
}

json pelt_method(const json& input, const json&) {
    const Partition result =
        pelt_l2(numbers(input, "y"), input.at("beta"), input.value("minseg", std::size_t{1}));
    return {{"change_points", result.change_points}, {"objective", number(result.objective)}};
}

json energy_method(const json& input, const json&) {
    const EnergySplit split = edivisive_q_argmax(numbers(input, "y"), input.value("alpha", 1.0));
    return {{"q", number(split.q)},
            {"tau", optional_json(split.tau)},
            {"kappa", optional_json(split.kappa)}};
}

json cusum_method(const json& input, const json&) {
    const Cusum result =
        tabular_cusum(numbers(input, "z"), input.value("k", 0.5), input.value("h", 4.0));
    json path = json::array();
    for (const auto& [upper, lower] : result.path) path.push_back({upper, lower});
    return {{"path", path}, {"first_alarm_index", optional_json(result.first_alarm)}};
}

}  // namespace

void add_series_methods(std::map<std::string, Method>& methods) {
    methods["signflip_mixture_eprocess"] = e_process_method;
    methods["property_mean_over_all_sign_flips"] = mean_e_method;
    methods["verdict"] = verdict_method;
    methods["steady_state_detection"] = steady_state_method;
    methods["change_points_robust_pelt"] = change_points_method;
    methods["pelt_l2"] = pelt_method;
    methods["edivisive_q_argmax"] = energy_method;
    methods["tabular_cusum"] = cusum_method;
}

}  // namespace steady
