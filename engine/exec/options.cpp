// Flags from text to values and back.
#include "engine/exec/options.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "engine/exec/champions.h"
#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"

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

// "dynamic:16": so many pieces per thread. Eight is what "dynamic" means, and has one spelling.
void parse_cut(ThreadOptions& threads, const std::string& text) {
    constexpr std::string_view kPrefix = "dynamic:";
    threads.cut = text == "static" ? Cut::fixed : text == "steal" ? Cut::steal : Cut::dynamic;
    threads.pieces_per_thread = kPiecesPerThread;
    if (text == "static" || text == "steal" || text == "dynamic") return;
    int pieces = 0;
    const char* last = text.data() + text.size();
    const char* first = text.rfind(kPrefix, 0) == 0 ? text.data() + kPrefix.size() : last;
    const auto [end, problem] = std::from_chars(first, last, pieces);
    if (problem != std::errc() || end != last || pieces < 1 || pieces > 64 ||
        pieces == kPiecesPerThread) {
        reject("cut", text,
               "static, steal, dynamic (8 pieces per thread), or dynamic:N with another N from 1 "
               "to 64");
    }
    threads.pieces_per_thread = pieces;
}

// "cpu", "cuda" (the first GPU) or "cuda:N".
int parse_device(const std::string& text) {
    constexpr std::string_view kPrefix = "cuda:";
    if (text == "cpu") return -1;
    if (text == "cuda") return 0;
    int index = -1;
    const char* last = text.data() + text.size();
    const char* first = text.rfind(kPrefix, 0) == 0 ? text.data() + kPrefix.size() : last;
    const auto [end, problem] = std::from_chars(first, last, index);
    if (problem != std::errc() || end != last || index < 0) {
        reject("device", text, "cpu, cuda, or cuda:N for GPU N, counted from 0");
    }
    return index;
}

// "q8", "q16", or "default": whatever the defaults take.
std::optional<Input> parse_activations(const std::string& text) {
    if (text == "default") return std::nullopt;
    if (text == "q8") return Input::q8;
    if (text == "q16") return Input::q16;
    reject("activations", text, "q8, q16 or default");
}

constexpr std::array<std::string_view, 4> kLaunches = {"stream", "graph", "dependent",
                                                       "persistent"};

gpu::Launch parse_launch(const std::string& text) {
    for (std::size_t i = 0; i < kLaunches.size(); ++i) {
        if (text == kLaunches[i]) return static_cast<gpu::Launch>(i);
    }
    reject("launch", text, "stream, graph, dependent or persistent");
}

template <class Op>
void check_persistent(const KernelPlan& plan) {
    const VariantInfo<Op>& chosen = plan.variant<Op>();
    if (chosen.persistent) return;
    std::string able;
    for (const VariantBase* variant : variants_of(Op::name)) {
        if (variant->persistent) able += (able.empty() ? "" : ", ") + std::string(variant->name);
    }
    throw Error{fmt::format(
        "launch persistent: variant {} of {} cannot be part of one launch; choose {}, or --launch "
        "dependent",
        chosen.name, Op::name, able)};
}

}  // namespace

void set_engine_flag(ArmOptions& options, const std::string& name, const std::string& value) {
    if (name == "wait") {
        if (value != "spin" && value != "sleep") reject(name, value, "spin or sleep");
        options.threads.wait = value == "spin" ? Wait::spin : Wait::sleep;
    } else if (name == "cut") {
        parse_cut(options.threads, value);
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
    } else if (name == "cache") {
        if (value != "f32" && value != "f16" && value != "bf16") {
            reject(name, value, "f32, f16 or bf16");
        }
        options.cache = type_from_name(value);
    } else if (name == "burn") {
        options.burn = parse_share(name, value);
    } else if (name == "device") {
        options.gpu = parse_device(value);
        options.plan.on_gpu = options.gpu >= 0;
    } else if (name == "launch") {
        options.launch = parse_launch(value);
    } else if (name == "activations") {
        options.plan.activations = parse_activations(value);
    } else if (name == "tag") {
        if (value.size() > 64) reject(name, value, "at most 64 bytes");
        options.tag = value;
    } else {
        throw Error{
            fmt::format("unknown engine flag '{}'; flags: activations, batch, burn, cache, cut, "
                        "device, launch, pin, tag, wait",
                        name)};
    }
}

std::int64_t batch_of(const ArmOptions& options) {
    if (options.batch > 0) return options.batch;
    if (options.gpu >= 0) return kDefaultBatchOnGpu;
    const std::string_view decided = flag_champion("batch", cpu::class_name());
    return decided.empty() ? kDefaultBatch : std::stoll(std::string(decided));
}

Type cache_of(const ArmOptions& options) {
    return options.cache.value_or(options.gpu >= 0 ? Type::f16 : Type::f32);
}

std::map<std::string, std::string> engine_flags(const ArmOptions& options) {
    const std::string device = options.gpu < 0    ? "cpu"
                               : options.gpu == 0 ? "cuda"
                                                  : fmt::format("cuda:{}", options.gpu);
    return {
        {"device", device},
        {"launch", std::string(kLaunches[static_cast<std::size_t>(options.launch)])},
        {"wait", std::string(wait_name(options.threads.wait))},
        {"cut", cut_name(options.threads)},
        {"pin", options.threads.pin ? "on" : "off"},
        {"batch", std::to_string(batch_of(options))},
        {"cache", std::string(type_name(cache_of(options)))},
        {"burn", fmt::format("{:g}%", options.burn * 100)},
        {"activations",
         options.plan.activations ? std::string(input_name(*options.plan.activations)) : "default"},
        {"tag", options.tag}};
}

void check_launch(const ArmOptions& options, const KernelPlan& plan) {
    if (options.gpu < 0 || options.launch != gpu::Launch::persistent) return;
    if (!plan.block->whole) {
        throw Error{fmt::format(
            "launch persistent: blocks are '{}' here, and only whole ones can be part of one "
            "launch; choose --step.block whole, or --launch dependent",
            plan.block->name)};
    }
    if (const Type cache = cache_of(options); cache != Type::f16 && cache != Type::bf16) {
        throw Error{
            fmt::format("launch persistent: it has no attention over a cache of {}; choose --cache "
                        "f16 or bf16, "
                        "or --launch dependent",
                        type_name(cache))};
    }
    check_persistent<BlockDecode>(plan);
    check_persistent<Products>(plan);
    check_persistent<TokenRow>(plan);
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
