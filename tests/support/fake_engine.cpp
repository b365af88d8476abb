// A program that speaks the session protocol and misbehaves on request: the model's file holds what
// to do at the duet. With it the runner's side is tested without an engine.
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/protocol/session_json.h"

namespace {

using nlohmann::json;
using namespace steady::protocol;

json open_reply(const std::string& how, const json& request) {
    OpenReply reply;
    if (how == "version-1") reply.version = 1;
    reply.nonce = request["nonce"];
    reply.engine_build = "fake";
    reply.architecture = "deepseek2";
    reply.n_blocks = 1;
    for (const auto& [name, arm] : request["arms"].items()) {
        for (const auto& [op, variant] : arm["kernels"].items()) {
            reply.arms[name].kernels[op] = {variant, "flag", 7};
        }
        reply.arms[name].threads = arm["threads"];
    }
    return reply;
}

// As of a GPU, a reading after each chunk; `short_b`: one less of B's.
void add_clocks(DuetReply& reply, const json& request, bool short_b) {
    const std::size_t n = request["coins"].get<std::string>().size();
    for (const auto& [arm, mhz] : {std::pair{&reply.a, 1980.0}, {&reply.b, 1965.0}}) {
        arm->sm_clock_mhz.assign(n, mhz);
        arm->memory_clock_mhz.assign(n, 2619);
        arm->clock_reasons.assign(n, 4);
    }
    if (short_b) reply.b.sm_clock_mhz.pop_back();
}

json duet_reply(const std::string& how, const json& request, const json& opened) {
    DuetReply reply;
    reply.nonce = request["nonce"];
    const int n = request["warmup_tokens"].get<int>() + request["tokens"].get<int>();
    const bool same = opened["arms"]["A"] == opened["arms"]["B"];
    for (int i = 0; i < n; ++i) {
        reply.a.token_ns.push_back(1000 + i);
        reply.b.token_ns.push_back(same ? 1000 + i : 900 + i);
    }
    reply.a.start_ns.assign(static_cast<std::size_t>(n), 1);
    reply.b.start_ns = reply.a.start_ns;
    reply.a.ttft_ns = reply.b.ttft_ns = 5000;
    reply.a.rss_bytes = reply.b.rss_bytes = 1e6;
    if (how.starts_with("clocks")) add_clocks(reply, request, how == "clocks-short");
    return reply;
}

json profile_reply(const json& request, const json& opened) {
    ProfileReply reply;
    reply.nonce = request["nonce"];
    for (const auto& [name, arm] : opened["arms"].items()) {
        const std::string variant = arm["kernels"]["q4_0_matvec"];
        reply.arms[name] = {{"q4_0_matvec", variant, 7, variant == "avx2" ? 900.0 : 1000.0, 5}};
        reply.launches_per_token[name] = variant == "avx2" ? 9 : 10;
        reply.barrier_ns_per_token[name] = variant == "avx2" ? 90 : 100;
    }
    if (request.value("read", true)) reply.read_gb_per_s = 40;
    return reply;
}

void misbehave(const std::string& how) {
    if (how == "crash") std::raise(SIGSEGV);
    if (how == "abort") std::exit(3);
    if (how == "quiet-exit") std::exit(0);
    if (how == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    if (how == "flood") {
        for (const std::string line(1 << 16, 'x');;) std::cout << line;
    }
}

// Text that replaces a good reply; "" when the good one is to be sent.
std::string bad_reply(const std::string& how, json good) {
    if (how == "wrong-nonce")
        good["nonce"] = "other";
    else if (how == "no-nonce")
        good.erase("nonce");
    else if (how == "nan")
        good["a"]["token_ns"][1] = nullptr;
    else if (how == "negative")
        good["a"]["token_ns"][1] = -5.0;
    else if (how == "zero")
        good["b"]["token_ns"][0] = 0.0;
    else if (how == "huge")
        good["b"]["token_ns"][0] = 1e300;
    else if (how == "text")
        good["b"]["token_ns"][0] = "12";
    else if (how == "few")
        good["b"]["token_ns"].erase(0);
    else if (how == "many")
        good["b"]["token_ns"].push_back(1.0);
    else if (how == "unknown")
        good["surprise"] = 1;
    else if (how == "missing")
        good.erase("b");
    else if (how == "array")
        good = json::array({good});
    else if (how == "refuse")
        good = {{"nonce", good["nonce"]}, {"error", "no such variant"}};
    else if (how == "steal")
        good["steal_share"] = 0.5, good["a"]["token_ns"][0] = 1e10;
    else if (how == "half")
        return good.dump().substr(0, 100);
    else if (how == "garbage")
        return "tok/s: 12.3";
    else if (how == "empty")
        return " ";
    else if (how == "two")
        return good.dump() + good.dump();
    else if (how == "bare-nan")
        return R"({"nonce":)" + good["nonce"].dump() + R"(,"a":NaN})";
    return good.dump();
}

// As an engine does that finds no room for its layouts beside those that lie there.
bool weights_lie_there(const char* descriptor) {
    struct stat file {};
    return fstat(std::stoi(descriptor), &file) == 0 && file.st_blocks > 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string how;
    if (argc > 2) std::getline(std::ifstream(argv[2]) >> std::ws, how);
    json opened;
    if (how == "leave-full" && weights_lie_there(argv[4])) return 2;
    for (std::string line; std::getline(std::cin, line);) {
        const json request = json::parse(line);
        const std::string verb = request["type"];
        if (verb == "quit") return how == "bad-end" ? 9 : 0;
        if (verb == "open") {
            opened = request;
            const bool full = how == "refuse-full" && weights_lie_there(argv[4]);
            if (how == "refuse-open" || full) {
                std::cout << json{{"nonce", request["nonce"]}, {"error", "unknown variant avx9"}}
                          << std::endl;
            } else {
                std::cout << open_reply(how, request) << std::endl;
            }
        } else if (verb == "correctness") {
            misbehave(how);
            CorrectnessReply reply;
            reply.nonce = request["nonce"];
            reply.positions = 32;
            reply.top1_agree = 1;
            std::cout << json(reply) << std::endl;
        } else if (verb == "profile") {
            misbehave(how);
            json reply = profile_reply(request, opened);
            if (how == "one-arm") reply["arms"].erase("A");
            if (how == "version-1" && request.contains("read")) how = "refuse";
            std::cout << bad_reply(how, reply) << std::endl;
        } else if (verb == "duet") {
            misbehave(how);
            std::cout << bad_reply(how, duet_reply(how, request, opened)) << std::endl;
        }
    }
    return 0;
}
