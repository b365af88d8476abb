// One writer for all tables, so that quoting is right in one place.
#include "runner/record/record_csv.h"

#include <fmt/format.h>

namespace steady {
namespace {

std::string csv_row(const std::vector<std::string>& fields) {
    std::string out;
    for (const std::string& field : fields) out += (out.empty() ? "" : ",") + field;
    return out + "\r\n";
}

std::string optional_number(const std::optional<double>& value) {
    return value ? csv_number(*value) : "";
}

void add_arm(std::string& out, const Record& record, const Pair& pair, const char* arm,
             const std::map<std::string, std::vector<double>>& samples) {
    const auto gate = static_cast<std::size_t>(pair.gate);
    const std::string id = gate < record.spec.gates.size() ? record.spec.gates[gate].id : "";
    for (const auto& [metric, values] : samples) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            out += csv_row({csv_field(record.id), csv_field(id), name(pair.kind),
                            std::to_string(pair.number + 1), std::to_string(pair.attempt + 1),
                            csv_field(pair.discarded), arm, csv_field(metric),
                            std::to_string(i + 1), csv_number(values[i])});
        }
    }
}

}  // namespace

std::string csv_field(const std::string& text) {
    std::string out = text;
    if (!out.empty() && std::string_view("=+-@\t\r").find(out[0]) != std::string_view::npos) {
        out.insert(0, "'");
    }
    if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
    std::string quoted = "\"";
    for (const char c : out) {
        quoted += c;
        if (c == '"') quoted += '"';
    }
    return quoted + "\"";
}

std::string csv_number(double value) { return fmt::format("{}", value); }

std::string samples_csv(const std::vector<Record>& records) {
    std::string out = csv_row({"experiment", "gate", "kind", "pair", "try", "discarded", "arm",
                               "metric", "repetition", "value"});
    for (const Record& record : records) {
        for (const Pair& pair : record.pairs) {
            add_arm(out, record, pair, "A", pair.a);
            add_arm(out, record, pair, "B", pair.b);
        }
    }
    return out;
}

std::string verdicts_csv(const std::vector<Record>& records) {
    std::string out = csv_row({"experiment", "question", "owner", "claim", "metric", "verdict",
                               "reason", "effect", "low", "high", "pairs", "discarded", "seconds",
                               "host", "cpu", "decided_at"});
    for (const Record& record : records) {
        const Analysis none;
        const Analysis& analysis = record.analysis ? *record.analysis : none;
        std::string host, cpu;
        if (!record.attempts.empty()) {
            const Attempt& last = record.attempts.back();
            host = last.host;
            const auto found = last.fingerprint.find("cpu_model");
            if (found != last.fingerprint.end()) cpu = found->second;
        }
        out +=
            csv_row({csv_field(record.id), csv_field(record.spec.id), csv_field(record.spec.owner),
                     csv_field(record.spec.hypothesis.claim), csv_field(analysis.metric),
                     record.analysis ? name(analysis.verdict) : "", csv_field(analysis.reason),
                     optional_number(analysis.effect), optional_number(analysis.interval.low),
                     optional_number(analysis.interval.high), std::to_string(analysis.pairs),
                     std::to_string(analysis.discarded), csv_number(record.seconds),
                     csv_field(host), csv_field(cpu), record.decided_at});
    }
    return out;
}

}  // namespace steady
