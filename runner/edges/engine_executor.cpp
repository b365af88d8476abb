// Requests out, replies in; each reply must echo its request's nonce, so that a stale or foreign
// line can never be taken for an answer.
#include "runner/edges/engine_executor.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/protocol/error.h"
#include "engine/protocol/session_json.h"

namespace steady {
namespace {

using protocol::ArmRequest;

constexpr int kProfileTokens = 16;
constexpr int kCorrectnessTokens = 32;

ArmRequest arm_request(const Spec& spec, const std::string& name) {
    const ArmSpec& arm = spec.arms.at(name);
    return {.kernels = arm.kernels,
            .steps = arm.steps,
            .threads = arm.threads.value_or(spec.subject.threads),
            .engine_flags = arm.engine_flags};
}

// One session process: starts, opens, answers, quits.
class Session {
public:
    Session(const Spec& spec, const EngineSetup& setup, bool aa, int context,
            std::uint64_t layout_seed)
        : setup_(&setup), child_(options(setup)) {
        protocol::OpenRequest request;
        request.arms = {{"A", arm_request(spec, "A")}, {"B", arm_request(spec, aa ? "A" : "B")}};
        request.context = context;
        request.layout_seed = layout_seed;
        opened = ask<protocol::OpenReply>("open", request);
    }

    // Throws Error with the engine's own words when it refuses, CandidateFailed when it breaks.
    template <class Reply, class Request>
    Reply ask(const std::string& what, Request request) {
        request.nonce = random_hex(8);
        nlohmann::json json = request;
        json["do"] = what;
        if (!child_.write_line(json.dump())) broken(what);
        const std::optional<std::string> line = child_.read_line(setup_->timeout_s);
        if (!line) broken(what);
        const nlohmann::json reply = nlohmann::json::parse(*line, nullptr, false);
        if (reply.is_object() && reply.contains("error") && reply["error"].is_string()) {
            throw Error(reply["error"].get<std::string>());
        }
        try {
            Reply answer = protocol::strict_from_json<Reply>(reply, "reply to " + what);
            if (answer.nonce != request.nonce) throw Error("reply to " + what + ": wrong nonce");
            return answer;
        } catch (const Error& error) {
            child_.end_as(Ending::protocol);
            throw CandidateFailed(fmt::format("protocol: {}", error.what()));
        }
    }

    void quit() {
        child_.write_line(R"({"do":"quit"})");
        child_.finish(10);
    }

    protocol::OpenReply opened;

private:
    static ChildOptions options(const EngineSetup& setup) {
        ChildOptions options;
        options.argv = {setup.engine, "session", setup.model};
        options.host_lock_fd = setup.host_lock_fd;
        options.stop = setup.stop;
        options.output_cap = std::size_t{16} << 20U;
        options.line_cap = std::size_t{4} << 20U;
        return options;
    }

    [[noreturn]] void broken(const std::string& what) {
        const ChildEnd end = child_.finish(2);
        throw CandidateFailed(fmt::format("{}: {} ({})",
                                          end.outcome() == "ok" ? "protocol" : end.outcome(),
                                          end.describe(), what));
    }

    const EngineSetup* setup_;
    Child child_;
};

std::vector<double> positive_values(const std::vector<double>& values, const std::string& what) {
    for (const double value : values) {
        if (!(value > 0) || !std::isfinite(value)) {
            throw CandidateFailed(fmt::format("protocol: {} holds {}", what, value));
        }
    }
    return values;
}

void put_arm(std::map<std::string, std::vector<double>>& side, const std::string& metric,
             const protocol::DuetArm& arm, std::size_t n_expected) {
    if (arm.token_ns.size() != n_expected) {
        throw CandidateFailed(fmt::format("protocol: {} latencies where {} were asked for",
                                          arm.token_ns.size(), n_expected));
    }
    side[metric] = positive_values(arm.token_ns, "token_ns");
    if (metric != "token_ns") return;
    side["ttft_ns"] = positive_values({arm.ttft_ns}, "ttft_ns");
    side["rss_bytes"] = positive_values({arm.rss_bytes}, "rss_bytes");
    side["launches_per_token"] = positive_values({arm.launches_per_token}, "launches_per_token");
}

Measured failed(const MeasureRequest& request, const std::string& text) {
    Measured measured;
    measured.pair = request.pair;
    const std::size_t colon = text.find(": ");
    measured.outcome = text.substr(0, colon);
    measured.detail = colon == std::string::npos ? "" : text.substr(colon + 2);
    return measured;
}

}  // namespace

std::string window_fault(double steal_share, double busy_others_share) {
    // Judgement, equal for both arms: far above what a duet averages out.
    constexpr double kMaxSteal = 0.05, kMaxOthers = 0.50;
    if (steal_share > kMaxSteal) {
        return fmt::format("steal: the host took {:.1f} % of the CPU time", 100 * steal_share);
    }
    if (busy_others_share > kMaxOthers) {
        return fmt::format("load: other programs used {:.0f} % of the CPU time",
                           100 * busy_others_share);
    }
    return {};
}

EngineExecutor::EngineExecutor(const Spec& spec, EngineSetup setup)
    : spec_(&spec), setup_(std::move(setup)) {}

const protocol::OpenReply& EngineExecutor::applied() {
    if (!applied_) open();
    return *applied_;
}

protocol::OpenReply EngineExecutor::open() {
    Session session(*spec_, setup_, false, setup_.prompt_tokens + 8, 0);
    applied_ = session.opened;
    session.quit();
    return *applied_;
}

protocol::CorrectnessReply EngineExecutor::correctness() {
    const int context = setup_.prompt_tokens + kCorrectnessTokens + 8;
    Session session(*spec_, setup_, false, context, 0);
    const auto reply = session.ask<protocol::CorrectnessReply>(
        "correctness", protocol::CorrectnessRequest{.nonce = {},
                                                    .text = setup_.text,
                                                    .prompt_tokens = setup_.prompt_tokens,
                                                    .tokens = kCorrectnessTokens});
    session.quit();
    return reply;
}

protocol::ProfileReply EngineExecutor::profile() {
    Session session(*spec_, setup_, false, setup_.prompt_tokens + kProfileTokens + 8, 0);
    const auto reply = session.ask<protocol::ProfileReply>(
        "profile", protocol::ProfileRequest{.nonce = {},
                                            .tokens = kProfileTokens,
                                            .prompt_tokens = setup_.prompt_tokens,
                                            .text = setup_.text});
    session.quit();
    return reply;
}

Measured EngineExecutor::measure(const MeasureRequest& request) {
    try {
        return request.scope == "micro" ? measure_micro(request) : measure_duet(request);
    } catch (const CandidateFailed& failure) {
        return failed(request, failure.what());
    }
}

Measured EngineExecutor::measure_duet(const MeasureRequest& request) {
    const int n_tokens = request.warmup_tokens + request.tokens;
    Session session(*spec_, setup_, request.pair.kind == PairKind::aa,
                    setup_.prompt_tokens + n_tokens + 8, request.layout_seed);
    const auto reply = session.ask<protocol::DuetReply>(
        "duet", protocol::DuetRequest{.nonce = {},
                                      .scope = request.scope,
                                      .coins = request.pair.coins,
                                      .chunk = request.chunk,
                                      .warmup_tokens = request.warmup_tokens,
                                      .tokens = request.tokens,
                                      .prompt_tokens = setup_.prompt_tokens,
                                      .text = setup_.text});
    session.quit();
    Measured measured;
    measured.pair = request.pair;
    const std::string metric = request.scope == "model" ? "token_ns" : request.scope + "_ns";
    put_arm(measured.pair.a, metric, reply.a, static_cast<std::size_t>(n_tokens));
    put_arm(measured.pair.b, metric, reply.b, static_cast<std::size_t>(n_tokens));
    measured.pair.discarded = window_fault(reply.steal_share, reply.busy_others_share);
    return measured;
}

Measured EngineExecutor::measure_micro(const MeasureRequest& request) {
    const protocol::OpenReply& plans = applied();
    const std::string a = plans.arms.at("A").kernels.at(request.op).variant;
    const std::string b =
        request.pair.kind == PairKind::aa ? a : plans.arms.at("B").kernels.at(request.op).variant;
    ChildOptions options;
    options.argv = {setup_.kernels, "duet",
                    "--op",         request.op,
                    "--a",          a,
                    "--b",          b,
                    "--shape",      request.shape,
                    "--coins",      request.pair.coins,
                    "--chunk",      std::to_string(request.chunk),
                    "--json"};
    options.host_lock_fd = setup_.host_lock_fd;
    options.stop = setup_.stop;
    const ChildEnd end = run_child(options, setup_.timeout_s);
    if (!end.ok()) throw CandidateFailed(end.outcome() + ": " + end.describe());
    const nlohmann::json json = nlohmann::json::parse(end.out, nullptr, false);
    Measured measured;
    measured.pair = request.pair;
    try {
        measured.pair.a["op_ns"] =
            positive_values(json.at("a_ns").get<std::vector<double>>(), "a_ns");
        measured.pair.b["op_ns"] =
            positive_values(json.at("b_ns").get<std::vector<double>>(), "b_ns");
    } catch (const nlohmann::json::exception& error) {
        throw CandidateFailed(fmt::format("protocol: {}", error.what()));
    }
    if (measured.pair.a["op_ns"].size() != measured.pair.b["op_ns"].size()) {
        throw CandidateFailed("protocol: arms of different length");
    }
    return measured;
}

}  // namespace steady
