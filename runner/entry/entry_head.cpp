// The head of an entry: front matter for programs, title, and where the numbers come from: CPU,
// class, memory read speed, code and weights.
#include <fmt/format.h>

#include <cmath>

#include "runner/base/text.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"
#include "runner/figures/numbers.h"
#include "runner/record/cpu_class.h"

namespace steady::entry {
namespace {

// YAML takes a JSON string as a quoted scalar. What Markdown could read is escaped as well, for
// renderers that do not know front matter.
std::string yaml(std::string_view text) {
    std::string out;
    for (const char c : json_quoted(safe_line(text))) {
        if (std::string_view("<>`[").find(c) != std::string_view::npos) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out;
}

std::string yaml_number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : "null";
}

std::string fingerprint_value(const Record& record, const std::string& key) {
    if (record.attempts.empty()) {
        return "";
    }
    const Fingerprint& print = record.attempts.back().fingerprint;
    const auto found = print.find(key);
    return found == print.end() ? "" : found->second;
}

// The name of the GPU that an arm ran on; "" when none did.
std::string gpu_of(const Record& record) {
    if (record.attempts.empty()) return "";
    return gpu_name(gpu_device(record.spec), record.attempts.back().fingerprint);
}

std::string headline_of(const Analysis& analysis) {
    std::string out = name(analysis.verdict);
    if (!analysis.reason.empty()) {
        out += " / " + analysis.reason;
    }
    return out;
}

// Measured in the profile beside the pairs.
std::optional<double> read_speed(const Record& record) {
    const auto& profile = record.evidence.profile;
    if (!profile || profile->read_gb_per_s <= 0) return std::nullopt;
    return profile->read_gb_per_s;
}

bool read_by_gpu(const Record& record) {
    return record.evidence.profile && record.evidence.profile->read_where == "gpu";
}

std::string code_words(const std::string& revision) {
    if (revision.empty()) return "unknown";
    return markdown_code(revision) +
           (revision.ends_with("-dirty") ? ", with changes that no revision holds" : "");
}

std::string head_table(const Record& record) {
    const auto speed = read_speed(record);
    std::vector<std::vector<std::string>> rows = {{"measured on", "value"}};
    rows.push_back(
        {"CPU", fmt::format("{}, {} CPUs", escape_markdown(fingerprint_value(record, "cpu_model")),
                            escape_markdown(fingerprint_value(record, "cpus")))});
    const std::string gpu = gpu_of(record);
    if (!gpu.empty()) rows.push_back({"GPU", escape_markdown(gpu)});
    rows.push_back({"CPU class", markdown_code(cpu_class(record))});
    rows.push_back({gpu.empty()           ? "memory read speed"
                    : read_by_gpu(record) ? "read speed of the GPU's memory"
                                          : "read speed of the host's memory",
                    speed ? fmt::format("{:.1f} GB/s", *speed) : std::string("not measured")});
    rows.push_back({"code", code_words(fingerprint_value(record, "steady_revision"))});
    if (const std::string kind = weights_words(record); !kind.empty()) {
        rows.push_back({"weights", kind});
    }
    return table(rows);
}

}  // namespace

std::string front_matter(const Record& record) {
    const Analysis& analysis = *record.analysis;
    const std::string machine = record.attempts.empty() ? "" : record.attempts.back().host;
    std::string out = "---\n";
    out += "id: " + yaml(record.id) + "\n";
    out += "spec: " + yaml(record.spec.sha256) + "\n";
    out += fmt::format("verdict: {}\n", name(analysis.verdict));
    out += "reason: " + (analysis.reason.empty() ? "null" : yaml(analysis.reason)) + "\n";
    out += "metric: " + yaml(analysis.metric) + "\n";
    out += "effect: " + yaml_number(analysis.effect) + "\n";
    out += fmt::format("interval: [{}, {}]\n", yaml_number(analysis.interval.low),
                       yaml_number(analysis.interval.high));
    out += fmt::format("pairs: {}\n", analysis.pairs);
    out += "machine: " + yaml(machine) + "\n";
    out += "cpu: " + yaml(fingerprint_value(record, "cpu_model")) + "\n";
    if (const std::string gpu = gpu_of(record); !gpu.empty()) out += "gpu: " + yaml(gpu) + "\n";
    out += "cpu_class: " + yaml(cpu_class(record)) + "\n";
    out += "read_gb_per_s: " + yaml_number(read_speed(record)) + "\n";
    out += "weights: " + yaml(weights_words(record)) + "\n";
    out += "question: " + yaml(record.question_sha) + "\n";
    out += "revision: " + yaml(fingerprint_value(record, "steady_revision")) + "\n";
    out += "date: " + record.decided_at.substr(0, 10) + "\n";
    out += "decided: " + yaml(record.decided_at) + "\n";
    out += "---\n\n";
    std::string title = fmt::format("# {}: {}", record.spec.id, headline_of(analysis));
    if (analysis.effect) {
        const auto& [low, high] = analysis.interval;
        const int decimals = low && high ? figures::decimals_for(*high - *low) : 1;
        title += ", " + figures::percent(*analysis.effect, decimals) + " " +
                 escape_markdown(analysis.metric);
    }
    const auto state = machine_state_of(record, pair_rows(record));
    if (state && state->depends) title += ", depends on machine state";
    const auto placed = placement_spread_of(record, pair_rows(record));
    if (placed && placed->depends) title += ", depends on placement";
    return out + title + "\n\n" + head_table(record) + "\n";
}

}  // namespace steady::entry
