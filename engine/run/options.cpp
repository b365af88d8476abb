// Flags from text to values and back.
#include "engine/run/options.h"

#include <fmt/core.h>

#include <charconv>

#include "engine/protocol/error.h"

namespace steady {
namespace {

[[noreturn]] void reject(const std::string& name, const std::string& value,
                         std::string_view allowed) {
    throw Error{fmt::format("engine flag {}: '{}' is not allowed; write {}", name, value, allowed)};
}

// "1%" or "0.5 %" → 0.01 or 0.005.
double parse_share(const std::string& name, const std::string& text) {
    constexpr std::string_view kAllowed = "a share from 0% to 100%, such as 1% or 0.5%";
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (problem != std::errc() || (unit != "%" && unit != " %") || !(value >= 0 && value <= 100)) {
        reject(name, text, kAllowed);
    }
    return value / 100;
}

}  // namespace

void set_engine_flag(ArmOptions& options, const std::string& name, const std::string& value) {
    if (name == "wait") {
        if (value != "spin" && value != "sleep") reject(name, value, "spin or sleep");
        options.threads.wait = value == "spin" ? Wait::spin : Wait::sleep;
    } else if (name == "cut") {
        if (value != "static" && value != "dynamic") reject(name, value, "static or dynamic");
        options.threads.cut = value == "static" ? Cut::fixed : Cut::dynamic;
    } else if (name == "pin") {
        if (value != "on" && value != "off") reject(name, value, "on or off");
        options.threads.pin = value == "on";
    } else if (name == "batch") {
        const auto [end, problem] =
            std::from_chars(value.data(), value.data() + value.size(), options.batch);
        if (problem != std::errc() || end != value.data() + value.size() || options.batch < 1 ||
            options.batch > kMostBatch) {
            reject(name, value, fmt::format("a number of tokens from 1 to {}", kMostBatch));
        }
    } else if (name == "burn") {
        options.burn = parse_share(name, value);
    } else {
        throw Error{
            fmt::format("unknown engine flag '{}'; flags: batch, burn, cut, pin, wait", name)};
    }
}

std::map<std::string, std::string> engine_flags(const ArmOptions& options) {
    return {{"wait", std::string(wait_name(options.threads.wait))},
            {"cut", std::string(cut_name(options.threads.cut))},
            {"pin", options.threads.pin ? "on" : "off"},
            {"batch", std::to_string(options.batch)},
            {"burn", fmt::format("{:g}%", options.burn * 100)}};
}

ArmOptions arm_options(const protocol::ArmRequest& request) {
    ArmOptions options;
    options.plan = {request.kernels, request.steps};
    if (request.threads < 0) {
        throw Error{fmt::format("threads: {} is negative; 0 means all CPUs", request.threads)};
    }
    options.threads.threads = request.threads == 0 ? usable_cpus() : request.threads;
    for (const auto& [name, value] : request.engine_flags) set_engine_flag(options, name, value);
    return options;
}

}  // namespace steady
