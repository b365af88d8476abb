// Verb profile: where a token's time goes, per op and variant, against the machine's read speed
// measured in the same run, unless the weights stay in the cache.
#include "engine/run/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "engine/verbs/verbs.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

double gb_per_s(const protocol::ProfileRow& row) {
    return row.ns_per_token > 0 ? row.bytes_per_token / row.ns_per_token : 0;
}

Json to_json(const Profile& profile, const Arm& arm, double read) {
    Json rows = Json::array();
    for (const protocol::ProfileRow& row : profile.rows) {
        rows.push_back({{"op", row.op},
                        {"variant", row.variant},
                        {"calls_per_token", row.calls_per_token},
                        {"ns_per_token", row.ns_per_token},
                        {"share", row.ns_per_token / profile.token_ns},
                        {"bytes_per_token", row.bytes_per_token},
                        {"gb_per_s", gb_per_s(row)},
                        {"share_of_read", read > 0 ? Json(gb_per_s(row) / read) : Json()}});
    }
    return {{"threads", arm.pool.options().threads},
            {"token_ns", profile.token_ns},
            {"read_gb_per_s", read},
            {"launches_per_token", profile.launches_per_token},
            {"barriers_per_token", profile.barriers_per_token},
            {"barrier_ns_per_token", profile.barrier_ns_per_token},
            {"ops", rows}};
}

}  // namespace

int run_profile(const Arguments& arguments) {
    const std::int64_t n = arguments.number("-n", 1, 1 << 20, 16);
    const std::int64_t depth = arguments.number("--depth", 1, 1 << 22, 8);
    const std::int64_t n_prompt = arguments.number("--prompt", 0, 1 << 22, 0);
    Model model(arguments.positionals[0]);
    const std::int64_t positions = std::max(n + depth, n_prompt);
    auto arms = model.make_arms({arguments.arm()}, positions);
    Arm& arm = *arms[0];
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < positions; ++i) {
        tokens.push_back(static_cast<std::int32_t>(i * 7919 % model.config.n_vocab));
    }
    const auto first = [&](std::int64_t count) {
        return std::span(tokens).first(static_cast<std::size_t>(count));
    };
    const std::int64_t fed = std::min(depth, kFedOfDepth);
    const Profile profile = n_prompt > 0 ? profile_prompt(arm, first(n_prompt))
                                         : profile_decode(arm, first(fed + n), fed, depth - fed);
    const double read = memory_read_gb_per_s(arm, model.store.bytes(), 3);
    if (arguments.json()) {
        fmt::print("{}\n", to_json(profile, arm, read).dump());
        return kExitOk;
    }
    fmt::print(
        "{:.3f} ms per token with timers on · {} threads · {}\n"
        "{:.0f} launches and {:.0f} barriers per token, {:.3f} ms waiting at barriers\n\n",
        profile.token_ns / 1e6, arm.pool.options().threads,
        read > 0 ? fmt::format("read speed {:.2f} GB/s", read) : "weights in the cache",
        profile.launches_per_token, profile.barriers_per_token, profile.barrier_ns_per_token / 1e6);
    fmt::print("{:<16} {:<26} {:>8} {:>10} {:>7} {:>9} {:>7}\n", "op", "variant", "calls", "µs",
               "time", "GB/s", "of read");
    double all = 0;
    for (const protocol::ProfileRow& row : profile.rows) {
        all += row.ns_per_token;
        fmt::print("{:<16} {:<26} {:>8.1f} {:>10.1f} {:>6.1f}% {:>9.2f} {:>7}\n", row.op,
                   row.variant, row.calls_per_token, row.ns_per_token / 1e3,
                   100 * row.ns_per_token / profile.token_ns, gb_per_s(row),
                   read > 0 ? fmt::format("{:.0f}%", 100 * gb_per_s(row) / read) : "–");
    }
    fmt::print("{:<16} {:<26} {:>8} {:>10.1f} {:>6.1f}%\n", "(between ops)", "", "",
               (profile.token_ns - all) / 1e3, 100 * (1 - all / profile.token_ns));
    return kExitOk;
}

}  // namespace steady
