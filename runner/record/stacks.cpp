// Folds, bounds and compares sampled stacks. Pure: perf is started by runner/programs/command.
#include "runner/record/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/error.h"
#include "runner/base/json_fields.h"
#include "runner/base/text.h"

namespace steady {

// Found by name from record_fields, hence not in an unnamed namespace.
template <class Visit, class T>
requires std::is_same_v<std::remove_const_t<T>, ArmStacks>
void fields(Visit& visit, T& value) {
    visit("runs", value.runs);
    visit("samples", value.samples);
    visit("left_out", value.left_out);
    visit("folded", value.folded);
}

template <class Visit, class T>
requires std::is_same_v<std::remove_const_t<T>, StackProfile>
void fields(Visit& visit, T& value) {
    visit("unwinding", value.unwinding);
    visit("hz", value.hz);
    visit("problem", value.problem);
    visit("arms", value.arms);
}

namespace {

constexpr std::size_t kMostName = 160;  // characters; names of templates grow without bound
constexpr char kUnknown[] = "[unknown]";
constexpr double kInterval = 3.29;   // standard deviations of 99.9 %
constexpr double kSmallest = 0.001;  // share of the time below which a frame is not drawn
constexpr std::size_t kMostFunctions = 200;
constexpr std::ptrdiff_t kMostDepth = 300;  // perf itself stops at 127

std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    return line;
}

// The semicolon separates frames.
std::string plain(std::string_view name) {
    std::string out = shorten(escape_line(name), kMostName);
    std::replace(out.begin(), out.end(), ';', ':');
    return out.empty() ? "?" : out;
}

// "  20ca3 mmap64 (/usr/lib/ld.so)". A frame without a symbol is named by its file, one of the
// kernel is marked as such.
std::string frame_name(std::string_view line) {
    const std::size_t after = line.find(' ');
    const std::size_t file = line.rfind(" (");
    const bool good = after != line.npos && file != line.npos && file >= after &&
                      line.ends_with(')') &&
                      line.substr(0, after).find_first_not_of("0123456789abcdef") == line.npos;
    if (!good) {
        throw Error(fmt::format("perf script: a frame is \"{}\"; allowed: ADDRESS SYMBOL (FILE)",
                                shorten(escape_line(line), 100)));
    }
    std::string_view dso = line.substr(file + 2);
    dso.remove_suffix(1);
    const std::string_view symbol = file > after ? line.substr(after + 1, file - after - 1) : "";
    const bool kernel = dso.starts_with("[kernel") || dso.starts_with("[guest.kernel");
    if (symbol.empty() || symbol == "[unknown]") {
        if (kernel) return "[kernel]";
        if (dso == "[unknown]") return kUnknown;
        return "[" + plain(dso.substr(dso.rfind('/') + 1)) + "]";
    }
    return plain(symbol) + (kernel ? " [kernel]" : "");
}

struct Node {
    std::map<std::string, Node> below;
    double own[2] = {0, 0};  // samples that ended here: A, B
    double all[2] = {0, 0};
};

std::vector<std::string> frames_of(const std::string& stack) {
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin <= stack.size();) {
        const std::size_t end = std::min(stack.find(';', begin), stack.size());
        out.push_back(stack.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

// Every stack of the arm begins with the same process.
bool one_process(const Stacks& stacks) {
    std::string first;
    for (const auto& [stack, samples] : stacks) {
        const std::string process = stack.substr(0, stack.find(';'));
        if (!first.empty() && process != first) return false;
        first = process;
    }
    return true;
}

struct Compared {
    double ns[2];
    double low, high;  // of B - A
};

// Counts are taken as Poisson: a process that is sampled at fixed intervals of its CPU time varies
// less, so the interval is rather too wide.
Compared compared(const double (&samples)[2], const double (&ns_per_sample)[2]) {
    Compared out{};
    double variance = 0;
    for (int arm : {0, 1}) {
        out.ns[arm] = samples[arm] * ns_per_sample[arm];
        variance += std::max(1.0, samples[arm]) * ns_per_sample[arm] * ns_per_sample[arm];
    }
    const double difference = out.ns[1] - out.ns[0], half = kInterval * std::sqrt(variance);
    out.low = difference - half;
    out.high = difference + half;
    return out;
}

struct Walk {
    FlameGraph graph;
    double ns_per_sample[2] = {0, 0};
    std::map<std::string, Node> functions{};

    void visit(const std::string& name, const Node& node, int depth) {
        const Compared here = compared(node.all, ns_per_sample);
        const bool small =
            here.ns[0] < kSmallest * graph.a_ns && here.ns[1] < kSmallest * graph.b_ns;
        if (depth == 0 || !small) {
            const int change = here.low > 0 ? 1 : here.high < 0 ? -1 : 0;
            graph.frames.push_back({depth, name, here.ns[0], here.ns[1], change});
        }
        for (int arm : {0, 1}) functions[name].own[arm] += node.own[arm];
        for (const auto& [called, below] : node.below) {
            if (small && depth > 0) {
                count_only(called, below);
            } else {
                visit(called, below, depth + 1);
            }
        }
    }

    // A function that is called from many small places may be large.
    void count_only(const std::string& name, const Node& node) {
        for (int arm : {0, 1}) functions[name].own[arm] += node.own[arm];
        for (const auto& [called, below] : node.below) count_only(called, below);
    }
};

}  // namespace

std::string stacks_text(const StackProfile& profile) {
    return record_fields::encode(profile).dump(-1, ' ', false,
                                               nlohmann::json::error_handler_t::replace);
}

StackProfile stacks_from_text(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) throw Error("stacks: found a text that is no JSON");
    StackProfile profile;
    record_fields::decode(json, record_fields::Place{"stacks"}, profile);
    return profile;
}

void add_perf_script(std::string_view text, Stacks& stacks) {
    std::optional<std::string> process;
    std::vector<std::string> frames;  // innermost first
    const auto end_sample = [&] {
        if (process && *process != "perf-exec" && *process != "perf") {
            std::string stack = *process;
            for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
                // A stack that cannot be unwound ends in a hundred of these.
                const bool again = *frame == kUnknown && stack.ends_with(kUnknown);
                if (!again) stack += ";" + *frame;
            }
            ++stacks[stack];
        }
        process.reset();
        frames.clear();
    };
    while (!text.empty()) {
        std::string_view line = next_line(text);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        while (line.ends_with(' ')) line.remove_suffix(1);
        if (line.empty()) {
            end_sample();
        } else if (line.starts_with('#')) {
            continue;
        } else if (process) {
            frames.push_back(frame_name(line));
        } else {
            process = plain(line);
        }
    }
    end_sample();
}

ArmStacks folded(const Stacks& stacks, int runs, std::size_t most_bytes) {
    std::vector<const Stacks::value_type*> order;
    for (const auto& one : stacks) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* x, const auto* y) { return x->second > y->second; });
    ArmStacks out;
    out.runs = runs;
    for (const auto* one : order) {
        out.samples += one->second;
        const std::string line = fmt::format("{} {}\n", one->first, one->second);
        if (out.folded.size() + line.size() <= most_bytes) {
            out.folded += line;
        } else {
            out.left_out += one->second;
        }
    }
    return out;
}

Stacks unfolded(std::string_view text) {
    Stacks out;
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        const std::size_t at = line.rfind(' ');
        std::int64_t samples = 0;
        const char* const end = line.data() + line.size();
        const bool number = at != line.npos && at > 0 &&
                            std::from_chars(line.data() + at + 1, end, samples).ptr == end;
        const bool deep = std::count(line.begin(), line.end(), ';') > kMostDepth;
        if (!number || samples <= 0 || deep) {
            throw Error(
                fmt::format("stacks: found \"{}\", allowed: FRAME;FRAME SAMPLES, at most "
                            "{} frames",
                            shorten(escape_line(line), 100), kMostDepth));
        }
        out[std::string(line.substr(0, at))] += samples;
    }
    return out;
}

FlameGraph flame_graph(const StackProfile& profile) {
    Walk walk;
    Node root;
    int arm = 0;
    for (const char* name : {"A", "B"}) {
        const auto found = profile.arms.find(name);
        if (found != profile.arms.end() && found->second.runs > 0 && profile.hz > 0) {
            walk.ns_per_sample[arm] = 1e9 / profile.hz / found->second.runs;
            const Stacks stacks = unfolded(found->second.folded);
            const std::size_t skipped = one_process(stacks) ? 1 : 0;
            for (const auto& [stack, samples] : stacks) {
                const auto count = static_cast<double>(samples);
                Node* node = &root;
                node->all[arm] += count;
                const std::vector<std::string> frames = frames_of(stack);
                for (std::size_t i = skipped; i < frames.size(); ++i) {
                    node = &node->below[frames[i]];
                    node->all[arm] += count;
                }
                node->own[arm] += count;
            }
            if (found->second.left_out > 0) {
                Node& rest = root.below["(rare stacks)"];
                const auto count = static_cast<double>(found->second.left_out);
                for (double* sum : {&rest.all[arm], &rest.own[arm], &root.all[arm]}) *sum += count;
            }
        }
        ++arm;
    }
    walk.graph.a_ns = root.all[0] * walk.ns_per_sample[0];
    walk.graph.b_ns = root.all[1] * walk.ns_per_sample[1];
    walk.visit("all", root, 0);
    walk.functions.erase("all");
    for (const auto& [name, node] : walk.functions) {
        const Compared self = compared(node.own, walk.ns_per_sample);
        if (self.ns[0] + self.ns[1] <= 0) continue;
        walk.graph.functions.push_back({name, self.ns[0], self.ns[1], self.low, self.high});
    }
    auto& functions = walk.graph.functions;
    std::stable_sort(functions.begin(), functions.end(), [](const auto& x, const auto& y) {
        return std::max(x.a_ns, x.b_ns) > std::max(y.a_ns, y.b_ns);
    });
    if (functions.size() > kMostFunctions) functions.resize(kMostFunctions);
    return std::move(walk.graph);
}

}  // namespace steady
