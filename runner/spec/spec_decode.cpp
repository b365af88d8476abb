// From the tree of an experiment file to the typed Spec, field by field.
#include "runner/spec/spec_decode.h"

#include <charconv>
#include <utility>

#include "runner/spec/spec_rules.h"

namespace steady {
namespace {

const JsonValue& at(const JsonValue& value, std::string_view key) {
    static const JsonValue none;
    const JsonValue* found = value.find(key);
    return found == nullptr ? none : *found;
}

std::string text(const JsonValue& value, std::string_view fallback = "") {
    return value.kind == JsonValue::Kind::string ? value.text : std::string(fallback);
}

int integer(const JsonValue& value, int fallback) {
    const auto number = value.unsigned_integer();
    return number && *number <= 1000000 ? static_cast<int>(*number) : fallback;
}

double number(const JsonValue& value, double fallback) { return value.number().value_or(fallback); }

// [+-]digits[.digits]%, each group of 1 to 15.
bool is_percent(std::string_view text) {
    const auto take_digits = [&text] {
        std::size_t n = 0;
        while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
        text.remove_prefix(n);
        return n >= 1 && n <= 15;
    };
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!take_digits()) return false;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (!take_digits()) return false;
    }
    return text == "%";
}

double share_in(const JsonValue& value, double fallback) {
    const bool fits = value.kind == JsonValue::Kind::string && is_percent(value.text);
    return fits ? percent_value(value.text) : fallback;
}

std::string scalar(const JsonValue& value) {
    return value.kind == JsonValue::Kind::string || value.kind == JsonValue::Kind::number
               ? value.text
               : "";
}

std::vector<std::string> texts(const JsonValue& value) {
    std::vector<std::string> out;
    for (const JsonValue& item : value.items) {
        out.push_back(scalar(item));
    }
    return out;
}

std::map<std::string, std::string> text_map(const JsonValue& value) {
    std::map<std::string, std::string> out;
    for (const JsonMember& member : value.members) {
        out[member.key] = scalar(member.value);
    }
    return out;
}

Hypothesis decode_hypothesis(const JsonValue& value) {
    Hypothesis out;
    out.claim = text(at(value, "claim"));
    out.because = text(at(value, "because"));
    if (const JsonValue* predict = value.find("predict")) {
        Prediction prediction;
        prediction.metric = text(at(*predict, "metric"));
        const JsonValue& change = at(*predict, "change");
        if (change.items.size() == 2) {
            prediction.low = share_in(change.items[0], 0);
            prediction.high = share_in(change.items[1], 0);
        }
        prediction.at = text_map(at(*predict, "at"));
        out.predict = prediction;
    }
    return out;
}

Subject decode_subject(const JsonValue& value) {
    Subject out;
    out.program = text(at(value, "program"), "steady-engine");
    out.name = text(at(value, "name"));
    out.repo = text(at(value, "repo"));
    out.model = text(at(value, "model"));
    out.workload = text(at(value, "workload"));
    out.threads = integer(at(value, "threads"), 0);
    for (const JsonValue& command : at(value, "build").items) {
        out.build.push_back(texts(command));
    }
    return out;
}

ArmSpec decode_arm(const JsonValue& value) {
    ArmSpec out;
    out.kernels = text_map(at(value, "kernels"));
    out.steps = text_map(at(value, "steps"));
    if (value.find("threads") != nullptr) {
        out.threads = integer(at(value, "threads"), 1);
    }
    out.engine_flags = text_map(at(value, "engine_flags"));
    out.rev = text(at(value, "rev"));
    out.run = texts(at(value, "run"));
    out.args = texts(at(value, "args"));
    out.env = text_map(at(value, "env"));
    out.role = text(at(value, "role"));
    return out;
}

Bound decode_bound(const std::string& written) {
    Bound out;
    out.text = written;
    if (written.size() < 3 || (written[0] != '<' && written[0] != '>')) {
        out.sense = Bound::Sense::equal;
        return out;
    }
    out.sense = written[0] == '<' ? Bound::Sense::at_most : Bound::Sense::at_least;
    std::from_chars(written.data() + 2, written.data() + written.size(), out.value);
    return out;
}

template <class Enum, std::size_t n>
Enum word(const JsonValue& value, const Enum (&choices)[n], Enum fallback) {
    for (const Enum choice : choices) {
        if (value.kind == JsonValue::Kind::string && value.text == name(choice)) {
            return choice;
        }
    }
    return fallback;
}

Gate decode_gate(const JsonValue& value) {
    Gate out;
    out.id = text(at(value, "id"));
    out.level = word(at(value, "level"),
                     {Level::correctness, Level::micro, Level::block, Level::model}, Level::model);
    out.role = word(at(value, "role"), {Role::advice, Role::guard, Role::decides}, Role::advice);
    out.metric = text(at(value, "metric"));
    out.op = text(at(value, "op"));
    for (const JsonMember& member : at(value, "need").members) {
        out.need[member.key] = decode_bound(scalar(member.value));
    }
    out.check = texts(at(at(value, "need"), "check"));
    out.goal = text(at(value, "goal")) == "equivalent" ? Goal::equivalent : Goal::gain;
    out.worth = share_in(at(value, "worth"), out.worth);
    out.floor = share_in(at(value, "floor"), out.floor);
    out.margin = share_in(at(value, "margin"), out.metric == "ttft_ns" ? 0.05 : 0.02);
    out.alpha = number(at(value, "alpha"), out.alpha);
    out.beta = number(at(value, "beta"), out.beta);
    out.alpha_guard = number(at(value, "alpha_guard"), out.alpha_guard);
    out.at = text_map(at(value, "at"));
    out.adapter = text(at(value, "adapter"));
    out.pattern = text(at(value, "pattern"));
    out.select = text(at(value, "select"));
    out.stat = text(at(value, "stat"));
    if (const JsonValue* direction = value.find("direction")) {
        out.direction = direction_of(text(*direction));
    }
    out.run = texts(at(value, "run"));
    return out;
}

constexpr int kLockstepTurns = 20;

ScheduleSpec decode_schedule(const JsonValue& value, const Subject& subject) {
    ScheduleSpec out;
    const Mode usual = subject.program == "outside" ? Mode::process_pairs : Mode::duet;
    out.mode = word(at(value, "mode"), {Mode::duet, Mode::process_pairs, Mode::lockstep}, usual);
    out.seed = at(value, "seed").unsigned_integer();
    out.pairs_max = integer(at(at(value, "pairs"), "max"), out.pairs_max);
    out.aa_pairs = integer(at(value, "aa_pairs"), out.aa_pairs);
    out.chunk = integer(at(value, "chunk"), out.chunk);
    out.warmup_tokens = integer(at(value, "warmup_tokens"), out.warmup_tokens);
    out.tokens = integer(at(value, "tokens"), out.tokens);
    out.cooldown_s = number(at(value, "cooldown_s"), out.cooldown_s);
    if (subject.program == "outside") {
        out.warmup_tokens = 0;  // a command has no tokens
        out.whole_runs = true;
    }
    out.warmup_runs = integer(at(value, "warmup_runs"), out.warmup_runs);
    if (out.mode == Mode::lockstep) {
        out.chunk = 1;  // a block is one turn of each arm
        out.inner = kLockstepTurns;
    }
    out.inner = integer(at(value, "inner"), out.inner);
    out.timeout_s = number(at(value, "timeout_s"), out.timeout_s);
    out.profile = text(at(value, "profile"));
    return out;
}

}  // namespace

Spec decode_spec(const JsonValue& root) {
    Spec out;
    out.id = text(at(root, "id"));
    out.owner = text(at(root, "owner"));
    out.hypothesis = decode_hypothesis(at(root, "hypothesis"));
    out.subject = decode_subject(at(root, "subject"));
    for (const JsonMember& arm : at(root, "arms").members) {
        out.arms[arm.key] = decode_arm(arm.value);
    }
    out.expect_diff = texts(at(root, "expect_diff"));
    for (const JsonMember& arm : at(root, "applied").members) {
        out.applied[arm.key] = text_map(arm.value);
    }
    for (const JsonMember& axis : at(root, "matrix").members) {
        out.matrix[axis.key] = texts(axis.value);
    }
    for (const JsonValue& gate : at(root, "gates").items) {
        out.gates.push_back(decode_gate(gate));
    }
    out.schedule = decode_schedule(at(root, "schedule"), out.subject);
    if (at(root, "aa").find("max_half_width") != nullptr) {
        out.aa_max_half_width = share_in(at(at(root, "aa"), "max_half_width"), 0.01);
    }
    const JsonValue& environment = at(root, "environment");
    out.environment.wait_quiet_s = number(at(environment, "wait_quiet_s"), 0);
    out.environment.max_discarded = share_in(at(environment, "max_discarded"), 0.30);
    if (const JsonValue* sweep = root.find("sweep")) {
        SweepSpec decoded;
        for (const JsonMember& axis : at(*sweep, "axes").members) {
            decoded.axes[axis.key] = texts(axis.value);
        }
        decoded.screen_pairs = integer(at(*sweep, "screen_pairs"), decoded.screen_pairs);
        out.sweep = decoded;
    }
    out.retry_if = text(at(root, "retry_if"));
    return out;
}

}  // namespace steady
