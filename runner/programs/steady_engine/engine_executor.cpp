// Both arms of an A/A pair are arm A, whatever the labels say; nothing else distinguishes them, so
// an A/A pair passes through exactly the code of a measured one.
#include "runner/programs/steady_engine/engine_executor.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/protocol/session_json.h"
#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/judge/gpu_clocks.h"
#include "runner/judge/op_times.h"
#include "runner/judge/placement.h"
#include "runner/plan/schedule.h"
#include "runner/platform/noise.h"

namespace steady {
namespace {

using protocol::ArmRequest;
using protocol::DuetArm;

constexpr double kFewestTicks_s = 0.05;  // /proc/stat counts in 10 ms: less is rounding
constexpr double kMicroTimeout_s = 600;
constexpr int kProfileProcesses = 8;  // the fewest that give an interval of 99 %
constexpr int kProfilesPerRead = 3;   // what memory gives is measured in every third: it takes long

ArmRequest arm_request(const Spec& spec, const std::string& name) {
    const auto found = spec.arms.find(name);
    if (found == spec.arms.end()) throw Error{fmt::format("the spec has no arm {}", name)};
    const ArmSpec& arm = found->second;
    return {.kernels = arm.kernels,
            .steps = arm.steps,
            .threads = arm.threads.value_or(spec.subject.threads),
            .engine_flags = arm.engine_flags};
}

std::string metric_of(const std::string& scope) {
    if (scope == "block") return "block_ns";
    if (scope == "ffn") return "ffn_ns";
    return "token_ns";
}

// Values that are positive in both arms; a scope that has no such value reports zero.
void put_single(Pair& pair, const std::string& metric, double a, double b) {
    if (!(a > 0) || !(b > 0)) return;
    pair.a[metric] = {a};
    pair.b[metric] = {b};
}

// Clocks of the GPU after each chunk; both arms must have all of them.
void put_clocks(Pair& pair, const DuetArm& a, const DuetArm& b) {
    const std::size_t n = a.sm_clock_mhz.size();
    const auto whole = [&](const DuetArm& arm) {
        const auto sound = [](double value) { return value > 0 && value < 1e6; };
        return arm.sm_clock_mhz.size() == n && arm.memory_clock_mhz.size() == n &&
               arm.clock_reasons.size() == n &&
               std::all_of(arm.sm_clock_mhz.begin(), arm.sm_clock_mhz.end(), sound) &&
               std::all_of(arm.memory_clock_mhz.begin(), arm.memory_clock_mhz.end(), sound);
    };
    if (n == 0 || !whole(a) || !whole(b)) return;
    for (const auto& [values, arm] : {std::pair{&pair.a, &a}, {&pair.b, &b}}) {
        (*values)[kSmClock] = arm->sm_clock_mhz;
        (*values)[kMemoryClock] = arm->memory_clock_mhz;
        (*values)[kClockReasons] = stored_reasons(arm->clock_reasons);
    }
}

void fill(Pair& pair, const std::string& scope, const DuetArm& a, const DuetArm& b) {
    pair.a[metric_of(scope)] = a.token_ns;
    pair.b[metric_of(scope)] = b.token_ns;
    put_single(pair, "ttft_ns", a.ttft_ns, b.ttft_ns);
    put_single(pair, "rss_bytes", a.rss_bytes, b.rss_bytes);
    put_single(pair, "launches_per_token", a.launches_per_token, b.launches_per_token);
    put_clocks(pair, a, b);
}

// What noise says about the window in which these tokens were timed; empty when it was quiet.
std::string disturbance(const protocol::DuetReply& reply) {
    double window_s = 0;
    for (const DuetArm* arm : {&reply.a, &reply.b}) {
        for (const double ns : arm->token_ns) window_s += ns * 1e-9;
    }
    const auto seen = [&](double share) { return share * window_s >= kFewestTicks_s ? share : 0; };
    const std::string reason = noise_reason(seen(reply.steal_share), seen(reply.busy_others_share));
    return reason.empty() ? "" : kNoiseReason + reason;
}

// The same order of the same programs when they have changed names.
std::string complement(std::string coins) {
    for (char& coin : coins) coin = coin == '0' ? '1' : '0';
    return coins;
}

template <class Reply>
Reply read_reply(const nlohmann::json& reply, const std::string& verb) {
    try {
        return protocol::strict_from_json<Reply>(reply, "reply to " + verb);
    } catch (const Error& error) {
        throw SessionFailure("protocol", error.what());
    }
}

void require_values(const std::vector<double>& values, std::size_t n) {
    const bool sound = std::all_of(values.begin(), values.end(), [](double value) {
        return value > 0 && value < 1e18;  // false for NaN
    });
    if (values.size() == n && sound) return;
    throw SessionFailure("protocol",
                         fmt::format("{} latencies above zero were asked for, {} came{}", n,
                                     values.size(), sound ? "" : ", not all sound"));
}

bool uses_gpu(const Spec& spec) { return !gpu_device(spec).empty(); }

}  // namespace

EngineExecutor::EngineExecutor(EngineExecutorOptions options) : options_(std::move(options)) {
    if (options_.spec->subject.program != "steady-engine") {
        throw Error{fmt::format("subject.program {} cannot be run yet; steady-engine can",
                                options_.spec->subject.program)};
    }
    if (!options_.weights) options_.weights = std::make_shared<PreparedWeights>();
    options_.weights->begin(options_.model_path);
}

ChildOptions EngineExecutor::child(const std::string& program,
                                   std::vector<std::string> arguments) const {
    ChildOptions child;
    child.argv.push_back(program);
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    child.host_lock_fd = options_.host_lock_fd;
    child.stop = options_.stop;
    child.output_cap = std::size_t{64} << 20U;  // token times of a whole session
    child.line_cap = std::size_t{16} << 20U;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow is terabytes
    std::error_code error;
    const auto model_bytes = std::filesystem::file_size(options_.model_path, error);
    // A GPU's driver reserves addresses for all memory of machine and GPU.
    if (!error && !uses_gpu(*options_.spec))
        child.limits.address_space = 3 * model_bytes + (std::uint64_t{4} << 30U);
#endif
    return child;
}

EngineSession EngineExecutor::start() const {
    const int weights = options_.weights->descriptor();
    auto options = child(options_.engine_path,
                         {"session", options_.model_path, "--weights-fd", std::to_string(weights)});
    options.weights_fd = weights;
    options.sha256 = options_.engine_sha256;
    return EngineSession(std::move(options));
}

protocol::OpenRequest EngineExecutor::open_request(const std::string& a, const std::string& b,
                                                   int n_tokens, std::uint64_t layout_seed) const {
    protocol::OpenRequest request;
    request.arms = {{"A", arm_request(*options_.spec, a)}, {"B", arm_request(*options_.spec, b)}};
    request.context =
        std::max(512, options_.prompt_tokens + options_.depth + std::max(n_tokens, 32) + 16);
    request.layout_seed = layout_seed;
    return request;
}

protocol::OpenReply EngineExecutor::open_arms() const {
    auto session = start();
    auto reply = read_reply<protocol::OpenReply>(
        session.ask("open", open_request("A", "B", 0, 0), options_.timeout_s), "open");
    session.quit();
    return reply;
}

const protocol::OpenReply& EngineExecutor::applied() {
    // Kept weights may be of another model or build, or leave no room for other layouts: then anew.
    bool kept = options_.weights->filled();
    while (!applied_) {
        try {
            applied_ = open_arms();
        } catch (const EngineRefused& refusal) {
            if (!kept) {
                throw Error{
                    fmt::format("{} refuses these arms: {}", options_.engine_path, refusal.what())};
            }
        } catch (const SessionFailure& failure) {
            if (!kept || failure.outcome == "cancelled") {
                throw Error{fmt::format("{} did not open {}: {}", options_.engine_path,
                                        options_.model_path, failure.what()),
                            kExitInternal};
            }
        }
        if (!applied_) options_.weights->renew();
        kept = false;
    }
    return *applied_;
}

ProgramReport EngineExecutor::open() { return applied(); }

// The op's shape with the most bytes per token in this model.
const std::string& EngineExecutor::shape_of(const std::string& op) {
    const auto shapes = applied().op_shapes.find(op);
    if (shapes == applied().op_shapes.end() || shapes->second.empty()) {
        throw Error(
            fmt::format("gate of level micro: this model does not use op {}. Remove the gate, or "
                        "name an op that "
                        "the model uses; `steady-engine profile MODEL` lists them",
                        op));
    }
    return shapes->second.front();
}

// Asks one process that holds both arms, opened in the order that the seed decides.
template <class Reply, class Request>
Reply EngineExecutor::ask_once(const char* verb, Request request, std::uint64_t layout_seed) const {
    auto session = start();
    const auto [first, second] =
        opens_first(layout_seed) == 'B' ? std::pair{"B", "A"} : std::pair{"A", "B"};
    session.ask("open", open_request(first, second, 0, layout_seed), options_.timeout_s);
    request.text = options_.workload_text;
    request.prompt_tokens = options_.prompt_tokens;
    request.depth = options_.depth;
    auto reply = read_reply<Reply>(session.ask(verb, request, options_.timeout_s), verb);
    session.quit();
    return reply;
}

OutputsReport EngineExecutor::correctness() {
    try {
        return ask_once<protocol::CorrectnessReply>("correctness", protocol::CorrectnessRequest{},
                                                    0);
    } catch (const SessionFailure& failure) {
        if (failure.outcome == "cancelled") throw Error{"cancelled", kExitInterrupted};
        throw CandidateFailed(failure.what());
    } catch (const EngineRefused& refusal) {
        throw CandidateFailed(fmt::format("crash: {}", refusal.what()));
    }
}

// Where arms, caches and weights happen to lie is worth 5 to 30 % of a small op's time and stays as
// it is for a process's life (measured, A against A), so it takes several to tell an op's change.
std::optional<protocol::ProfileReply> EngineExecutor::profile() {
    try {
        std::vector<protocol::ProfileReply> processes;
        for (int i = 0; i < kProfileProcesses; ++i) {
            const auto seed = static_cast<std::uint64_t>(i);
            protocol::ProfileRequest request;
            request.read = i % kProfilesPerRead == 0 || applied().version < 2;
            auto reply = ask_once<protocol::ProfileReply>("profile", request, seed);
            if (opens_first(seed) == 'B') {
                std::swap(reply.arms["A"], reply.arms["B"]);
                std::swap(reply.launches_per_token["A"], reply.launches_per_token["B"]);
                std::swap(reply.barrier_ns_per_token["A"], reply.barrier_ns_per_token["B"]);
            }
            processes.push_back(std::move(reply));
        }
        return joined_profiles(processes);
    } catch (const SessionFailure& failure) {
        throw CandidateFailed(failure.what());
    } catch (const EngineRefused& refusal) {
        throw CandidateFailed(fmt::format("crash: {}", refusal.what()));
    }
}

protocol::DuetReply EngineExecutor::duet(const MeasureRequest& request, const std::string& a,
                                         const std::string& b) const {
    auto session = start();
    const int n_tokens = request.warmup_tokens + request.tokens;
    session.ask("open", open_request(a, b, n_tokens, request.layout_seed), options_.timeout_s);
    protocol::DuetRequest message;
    message.scope = request.scope;
    message.coins = request.pair.coins;
    message.chunk = request.chunk;
    message.warmup_tokens = request.warmup_tokens;
    message.tokens = request.tokens;
    message.prompt_tokens = options_.prompt_tokens;
    message.depth = options_.depth;
    message.text = options_.workload_text;
    auto reply =
        read_reply<protocol::DuetReply>(session.ask("duet", message, options_.timeout_s), "duet");
    require_values(reply.a.token_ns, static_cast<std::size_t>(n_tokens));
    require_values(reply.b.token_ns, static_cast<std::size_t>(n_tokens));
    session.quit();
    return reply;
}

void EngineExecutor::note_noise(Pair& pair, const std::string& disturbed) {
    const bool again = tries_.worth_another(pair.attempt, !disturbed.empty());
    if (again && options_.discard_noisy) pair.discarded = disturbed;
}

// The place of an arm in its process (opened first or second) is worth 0.3 % (measured), so a coin
// decides it too.
void EngineExecutor::measure_duet(const MeasureRequest& request, Pair& pair) {
    const std::string b = pair.kind == PairKind::aa ? "A" : "B";
    const bool b_opens = opens_first(request.layout_seed) == 'B';
    MeasureRequest placed = request;
    if (b_opens) placed.pair.coins = complement(pair.coins);
    auto reply = b_opens ? duet(placed, b, "A") : duet(placed, "A", b);
    if (b_opens) std::swap(reply.a, reply.b);
    fill(pair, request.scope, reply.a, reply.b);
    note_noise(pair, disturbance(reply));
}

// Each arm in a process of its own, in the order of the first coin. The protocol knows duets only,
// so that the process runs its arm against itself and one half is used.
void EngineExecutor::measure_processes(const MeasureRequest& request, Pair& pair) {
    const int n_blocks =
        (request.warmup_tokens + request.tokens + request.chunk - 1) / std::max(1, request.chunk);
    MeasureRequest alone = request;
    alone.pair.coins = std::string(static_cast<std::size_t>(n_blocks), '0');
    std::map<std::string, protocol::DuetReply> replies;
    std::string disturbed;
    const bool b_first = pair.coins.rfind('1', 0) == 0;
    for (const std::string label : {b_first ? "B" : "A", b_first ? "A" : "B"}) {
        const std::string arm = pair.kind == PairKind::aa ? "A" : label;
        replies[label] = duet(alone, arm, arm);
        if (disturbed.empty()) disturbed = disturbance(replies[label]);
    }
    note_noise(pair, disturbed);
    fill(pair, request.scope, replies["A"].a, replies["B"].a);
}

void EngineExecutor::measure_micro(const MeasureRequest& request, Pair& pair) {
    const auto variant = [&](const std::string& arm) {
        const auto& kernels = applied().arms.at(arm).kernels;
        const auto found = kernels.find(request.op);
        if (found == kernels.end()) {
            throw SessionFailure("protocol", fmt::format("arm {} runs no {}", arm, request.op));
        }
        return found->second.variant;
    };
    const std::string& shape = shape_of(request.op);
    std::string first = variant("A"), second = variant(pair.kind == PairKind::aa ? "A" : "B");
    const bool b_opens = opens_first(request.layout_seed) == 'B';
    if (b_opens) std::swap(first, second);
    const std::string coins = b_opens ? complement(pair.coins) : pair.coins;
    std::vector<std::string> words = {"duet", "--op", request.op, "--shape", shape, "--json"};
    words.insert(words.end(), {"--a", first, "--b", second, "--coins", coins});
    const std::string device = gpu_device(*options_.spec);
    if (!device.empty()) words.insert(words.end(), {"--device", device});
    auto options = child(options_.kernels_path, words);
    options.limits.address_space.reset();
    const ChildEnd end = run_child(std::move(options), kMicroTimeout_s);
    if (!end.ok()) throw SessionFailure(end.outcome(), end.describe());
    const auto reply = nlohmann::json::parse(end.out, nullptr, false);
    try {
        pair.a["op_ns"] = reply.at(b_opens ? "b_ns" : "a_ns").get<std::vector<double>>();
        pair.b["op_ns"] = reply.at(b_opens ? "a_ns" : "b_ns").get<std::vector<double>>();
    } catch (const nlohmann::json::exception& error) {
        throw SessionFailure("protocol", fmt::format("steady-kernels duet: {}", error.what()));
    }
    require_values(pair.a["op_ns"], pair.b["op_ns"].size());
    require_values(pair.b["op_ns"], pair.a["op_ns"].size());
}

// Cool down after the pair before, then wait until the machine is quiet, as the spec asks.
void EngineExecutor::settle() {
    if (measured_before_ && options_.spec->schedule.cooldown_s > 0) {
        pollfd entry{options_.stop != nullptr ? options_.stop->fd() : -1, POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(options_.spec->schedule.cooldown_s * 1000));
    }
    measured_before_ = true;
    if (options_.spec->environment.wait_quiet_s > 0) {
        wait_until_quiet(options_.spec->environment.wait_quiet_s, options_.stop);
    }
}

// A GPU's weights are copied for each process, and micro gates have their own.
bool EngineExecutor::moves_weights(const MeasureRequest& request) const {
    return request.scope != "micro" && !uses_gpu(*options_.spec);
}

// One lucky placement must not last through all pairs: each block of pairs gets another. Returns
// the seconds that it took, 0 when the weights stay.
double EngineExecutor::place_weights(const MeasureRequest& request) {
    const Pair& pair = request.pair;
    const bool begins = pair.attempt == 0 && pair.number % kPairsPerPlacement == 0;
    if (pair.kind != PairKind::measure || !begins || !moves_weights(request)) return 0;
    // The first block's weights were placed when this experiment loaded them.
    if (pair.number == 0 && !options_.weights->inherited()) return 0;
    return options_.weights->redraw(request.layout_seed).value_or(0);
}

Measured EngineExecutor::measure(const MeasureRequest& request) {
    Measured measured;
    measured.pair = request.pair;
    // A resumed experiment begins with a pair, on weights that another may have left.
    if (options_.weights->filled()) applied();
    const double moved_s = place_weights(request);
    settle();
    try {
        if (request.scope == "micro") {
            measure_micro(request, measured.pair);
        } else if (options_.spec->schedule.mode == Mode::duet) {
            measure_duet(request, measured.pair);
        } else {
            measure_processes(request, measured.pair);
        }
        if (moves_weights(request)) {
            const double placement = options_.weights->placement();
            put_single(measured.pair, kPlacement, placement, placement);
            put_single(measured.pair, kPlacementSeconds, moved_s, moved_s);
        }
        return measured;
    } catch (const SessionFailure& failure) {
        measured.outcome = failure.outcome;
        measured.detail = safe_line(failure.text);
    } catch (const EngineRefused& refusal) {
        measured.outcome = "crash";
        measured.detail = safe_line(refusal.what());
    }
    measured.pair = request.pair;  // no half-measured values
    return measured;
}

}  // namespace steady
