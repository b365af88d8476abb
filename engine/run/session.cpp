// One process per pair: `open` makes both arms, then duet, correctness and profile can be
// requested. The layout seed shifts heap and stack before anything is allocated: memory layout
// changes speed, and one layout must not decide.
#include "engine/run/session.h"

#include <alloca.h>
#include <fmt/core.h>

#include <istream>
#include <memory>
#include <optional>
#include <ostream>

#include "engine/protocol/session_json.h"
#include "engine/run/duet.h"
#include "engine/run/model.h"
#include "engine/run/profile.h"
#include "kernels/base/revision.h"

namespace steady {
namespace {

using namespace protocol;  // NOLINT: this file is the protocol's server

constexpr std::size_t kMaxLine = 16 << 20;
constexpr std::size_t kStackShift = 4096;  // bytes at most
constexpr std::size_t kHeapShift = 65536;

struct Session {
    std::string path;
    std::unique_ptr<Model> model;
    std::vector<std::unique_ptr<Arm>> arms;  // A, B
    std::vector<std::unique_ptr<char[]>> padding;

    Arm& a() { return *arms.at(0); }
    Arm& b() { return *arms.at(1); }
    void require_open() const {
        if (arms.size() != 2) throw Error{"no arms yet: send a request of type open first"};
    }
};

// SplitMix64: the next number of a seed.
std::uint64_t next_random(std::uint64_t& seed) {
    std::uint64_t z = seed += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

void shift_heap(Session& session, std::uint64_t seed) {
    for (int i = 0; i < 8; ++i) {
        const std::size_t n = 16 + next_random(seed) % kHeapShift;
        session.padding.push_back(std::make_unique<char[]>(n));
    }
}

OpenReply open_arms(Session& session, const OpenRequest& request) {
    if (request.arms.size() != 2 || !request.arms.contains("A") || !request.arms.contains("B")) {
        throw Error{"open: arms must be exactly \"A\" and \"B\""};
    }
    session.arms.clear();
    shift_heap(session, request.layout_seed);
    session.arms = session.model->make_arms(
        {arm_options(request.arms.at("A")), arm_options(request.arms.at("B"))}, request.context);
    OpenReply reply;
    reply.engine_build = steady_revision();
    reply.architecture = session.model->config.architecture;
    reply.model_name = session.model->config.name;
    reply.n_blocks = static_cast<int>(session.model->config.n_blocks);
    reply.arms["A"] = applied_arm(session.a());
    reply.arms["B"] = applied_arm(session.b());
    for_each_op(session.model->uses.shapes, [&](const auto& uses) {
        using Op = typename std::decay_t<decltype(uses)>::OpType;
        for (const auto& shape : uses.shapes) {
            reply.op_shapes[Op::name].push_back(to_text(shape));
        }
    });
    return reply;
}

ProfileReply profile_arms(Session& session, const ProfileRequest& request) {
    session.require_open();
    const std::int64_t n = std::int64_t{request.prompt_tokens} + request.tokens;
    if (request.prompt_tokens < 1 || request.tokens < 1 || request.depth < 0 ||
        n + request.depth > session.a().cache.context()) {
        throw Error{
            fmt::format("profile: prompt_tokens and tokens must be at least 1, depth at least 0, "
                        "and together at most the context, {}",
                        session.a().cache.context())};
    }
    const auto tokens =
        forced_tokens(session.model->file, request.text, n, session.model->config.n_vocab);
    ProfileReply reply;
    if (request.read) {
        // Once with each loop: the runner asks several processes and takes the median.
        reply.read_gb_per_s = memory_read_gb_per_s(session.a(), session.model->store.bytes(), 1);
        if (session.a().on_gpu()) reply.read_where = "gpu";
        session.a().pool.park();
    }
    const auto profiles =
        profile_in_turns(session.a(), session.b(), tokens, request.prompt_tokens, request.depth);
    for (const auto& [name, profile] : {std::pair{"A", &profiles[0]}, {"B", &profiles[1]}}) {
        reply.arms[name] = profile->rows;
        reply.launches_per_token[name] = profile->launches_per_token;
        reply.barrier_ns_per_token[name] = profile->barrier_ns_per_token;
    }
    return reply;
}

struct Answer {
    Session& session;
    Reply operator()(const OpenRequest& r) const { return open_arms(session, r); }
    Reply operator()(const CorrectnessRequest& r) const {
        session.require_open();
        return compare_outputs(session.model->file, session.a(), session.b(), r);
    }
    Reply operator()(const DuetRequest& r) const {
        session.require_open();
        return run_duet(session.model->file, session.a(), session.b(), r);
    }
    Reply operator()(const ProfileRequest& r) const { return profile_arms(session, r); }
    Reply operator()(const QuitRequest& /*r*/) const { return QuitReply{}; }
};

// Runs with the stack moved down by a seeded number of bytes, below which every call then lies.
__attribute__((noinline)) Reply answer_shifted(Session& session, const Request& request,
                                               std::size_t shift) {
    auto* pad = static_cast<volatile char*>(alloca(16 + shift));
    pad[0] = 0;
    return std::visit(Answer{session}, request);
}

// One line of at most kMaxLine bytes; a longer one is read to its end and answered by an error.
bool read_line(std::istream& in, std::string& line, bool& too_long) {
    line.clear();
    too_long = false;
    for (int c = in.get(); c != std::char_traits<char>::eof(); c = in.get()) {
        if (c == '\n') return true;
        if (line.size() < kMaxLine) {
            line.push_back(static_cast<char>(c));
        } else {
            too_long = true;
        }
    }
    return !line.empty();
}

Reply answer_line(Session& session, const std::string& line, std::size_t& shift) {
    try {
        const Request request = request_from_line(line);
        if (const auto* open = std::get_if<OpenRequest>(&request)) {
            std::uint64_t seed = ~open->layout_seed;
            shift = next_random(seed) % kStackShift;
        }
        Reply reply = answer_shifted(session, request, shift);
        const std::string nonce = std::visit([](const auto& r) { return r.nonce; }, request);
        std::visit([&](auto& r) { r.nonce = nonce; }, reply);
        return reply;
    } catch (const std::bad_alloc&) {
        return ErrorReply{nonce_of(line), "out of memory; ask for less context"};
    } catch (const std::exception& error) {
        return ErrorReply{nonce_of(line), error.what()};
    }
}

}  // namespace

void serve_session(const std::string& model_path, std::istream& in, std::ostream& out,
                   int weights_descriptor) {
    Session session;
    session.path = model_path;
    session.model = std::make_unique<Model>(model_path, weights_descriptor);
    std::size_t shift = 0;
    bool too_long = false;
    for (std::string line; read_line(in, line, too_long);) {
        if (line.empty()) continue;
        const Reply reply = too_long ? ErrorReply{"", "line longer than 16 MiB"}
                                     : answer_line(session, line, shift);
        out << to_line(reply) << '\n' << std::flush;
        if (!out || std::holds_alternative<QuitReply>(reply)) return;
    }
}

}  // namespace steady
