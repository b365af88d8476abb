// Comparison by bytes; differences are shown by their first place.
#include "runner/programs/command/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "kernels/base/error.h"
#include "runner/base/pattern.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/programs/command/scratch_folder.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

std::string quoted(const std::string& text) { return "\"" + shorten(safe_line(text), 60) + "\""; }

std::string line_at(const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

std::string first_difference(const std::string& a, const std::string& b, const std::string& name) {
    const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto at = static_cast<std::size_t>(in_a - a.begin());
    const auto line = 1 + std::count(a.begin(), in_a, '\n');
    return fmt::format("they differ from line {}: A {}, {} {}", line, quoted(line_at(a, at)), name,
                       quoted(line_at(b, std::min(at, b.size()))));
}

OutputCheck equal_bytes(const Gate& gate, const std::string& need, const std::string& a,
                        const std::string& b, const std::string& name) {
    const bool held = a == b;
    const std::string bytes = a.size() == b.size()
                                  ? fmt::format("{} bytes", a.size())
                                  : fmt::format("{} and {} bytes", a.size(), b.size());
    return {gate.id, need, held,
            held ? fmt::format("{}: equal, {}", need, bytes)
                 : fmt::format("{}: {}; {}", need, bytes, first_difference(a, b, name))};
}

// What is wrong with one output by itself: its hash, or a pattern that it does not match. Empty:
// nothing, or the rule compares two.
std::string lacks(const std::string& rule, const std::string& out) {
    if (rule.starts_with("sha256:")) {
        const std::string is = sha256_hex(out);
        return is == rule.substr(7) ? "" : fmt::format("has the hash {}", is);
    }
    if (!rule.starts_with("matches:")) return "";
    const std::string pattern = rule.substr(std::string("matches:").size());
    if (Pattern(pattern).search(out)) return "";
    return fmt::format("does not match {}: {}", quoted(pattern), quoted(out));
}

// A's part was looked at before: baseline_trouble.
OutputCheck check_stdout(const Gate& gate, const std::string& rule, const std::string& a,
                         const std::string& b, const std::string& name) {
    if (rule == "equal") return equal_bytes(gate, "stdout", a, b, name);
    const std::string wrong = lacks(rule, b);
    const char* good = rule.starts_with("sha256:") ? "the expected hash" : "both match";
    return {gate.id, "stdout", wrong.empty(),
            wrong.empty() ? fmt::format("stdout: {}", good)
                          : fmt::format("stdout: {}'s {}", name, wrong)};
}

std::string write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

OutputCheck check_by_command(const Gate& gate, const ArmOutput& a, const ArmOutput& b,
                             const RunCheck& run_check) {
    const ScratchFolder scratch;
    const CommandRun run = run_check(fill_placeholders(
        gate.check, {{"out_a", write_file(scratch.file("out_a"), a.run.end.out)},
                     {"out_b", write_file(scratch.file("out_b"), b.run.end.out)}}));
    return {gate.id, "check", run.end.ok(),
            run.end.ok() ? fmt::format("check: {} agrees", quoted(gate.check[0]))
                         : fmt::format("check: {} says no: {}", quoted(gate.check[0]), run.how())};
}

}  // namespace

int needed_exit(const Gate& gate) {
    const auto found = gate.need.find("exit");
    return found == gate.need.end() ? 0 : std::stoi(found->second.text);
}

std::string baseline_trouble(const Gate& gate, const ArmOutput& a) {
    const int wanted = needed_exit(gate);
    if (a.run.end.code != wanted) return fmt::format("{}, {} is needed", a.run.how(), wanted);
    if (const auto rule = gate.need.find("stdout"); rule != gate.need.end()) {
        const std::string wrong = lacks(rule->second.text, a.run.end.out);
        if (!wrong.empty()) return fmt::format("its stdout {}", wrong);
    }
    const auto file = gate.need.find("file");
    if (file == gate.need.end() || a.file_there) return "";
    return fmt::format("it did not write {}", quoted(file->second.text));
}

int timed_exit(const Spec& spec, const Gate& gate) {
    for (const Gate& one : spec.gates)
        if (one.level == Level::correctness && one.run == gate.run) return needed_exit(one);
    return 0;
}

std::vector<OutputCheck> compare_outputs(const Gate& gate, const ArmOutput& a, const ArmOutput& b,
                                         const RunCheck& run_check, const std::string& name) {
    std::vector<OutputCheck> checks;
    const int wanted = needed_exit(gate), code = b.run.end.code;
    checks.push_back({gate.id, "exit", code == wanted,
                      code == wanted ? fmt::format("exit: {} in both arms", wanted)
                                     : fmt::format("exit: {} ended with {}, {} is needed", name,
                                                   b.run.how(), wanted)});
    if (code != wanted) return checks;
    if (const auto rule = gate.need.find("stdout"); rule != gate.need.end()) {
        checks.push_back(check_stdout(gate, rule->second.text, a.run.end.out, b.run.end.out, name));
    }
    if (const auto file = gate.need.find("file"); file != gate.need.end()) {
        const std::string need = "file " + file->second.text;
        checks.push_back(b.file_there
                             ? equal_bytes(gate, need, a.file, b.file, name)
                             : OutputCheck{gate.id, need, false,
                                           fmt::format("{}: {} did not write it", need, name)});
    }
    if (!gate.check.empty()) checks.push_back(check_by_command(gate, a, b, run_check));
    return checks;
}

namespace {

// The number behind "name=" or "name:"; the last one counts.
std::optional<double> counter_in(const std::string& log, const std::string& name) {
    std::optional<double> value;
    for (std::size_t at = log.find(name); at != log.npos; at = log.find(name, at + 1)) {
        std::size_t from = at + name.size();
        while (from < log.size() && (log[from] == ' ' || log[from] == '"')) ++from;
        if (from >= log.size() || (log[from] != '=' && log[from] != ':')) continue;
        char* end = nullptr;
        const double number = std::strtod(log.c_str() + from + 1, &end);
        if (end != log.c_str() + from + 1) value = number;
    }
    return value;
}

Proof counter_proof(const std::string& arm, const std::string& rule, const std::string& text,
                    const std::string& log) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const double least = std::stod(text.substr(equals + 1));
    const auto value = counter_in(log, name);
    return {arm, rule, text, value && *value >= least,
            value ? fmt::format("{} is {:g}, at least {:g} is asked for", name, *value, least)
                  : fmt::format("it prints no {}", name)};
}

}  // namespace

std::vector<Proof> look_for_proofs(const Spec& spec, const std::string& arm, const std::string& log,
                                   const std::string& file) {
    std::vector<Proof> proofs;
    const auto rules = spec.applied.find(arm);
    if (rules == spec.applied.end()) return proofs;
    for (const auto& [rule, text] : rules->second) {
        const bool in_log = log.find(text) != log.npos;
        if (rule == "log_has") {
            proofs.push_back({arm, rule, text, in_log,
                              fmt::format("what it prints {} {}",
                                          in_log ? "holds" : "does not hold", quoted(text))});
        } else if (rule == "log_lacks") {
            proofs.push_back({arm, rule, text, !in_log,
                              fmt::format("what it prints {} {}",
                                          in_log ? "holds" : "does not hold", quoted(text))});
        } else if (rule == "counter_at_least") {
            proofs.push_back(counter_proof(arm, rule, text, log));
        } else {
            const std::size_t colon = text.find(':');
            const std::string path = text.substr(0, colon);
            const std::string wanted = text.substr(text.find_first_not_of(' ', colon + 1));
            const bool held = file.find(wanted) != std::string::npos;
            proofs.push_back(
                {arm, rule, text, held,
                 fmt::format("{} {} {}", path, held ? "holds" : "does not hold", quoted(wanted))});
        }
    }
    return proofs;
}

}  // namespace steady
