// The Executor of outside programs: a process per measurement, whatever it is written in. Outputs
// are compared before anything is timed; a run that fails becomes the outcome of its pair.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "runner/programs/command/command_arms.h"
#include "runner/programs/command/outputs.h"
#include "runner/programs/command/readings.h"
#include "runner/programs/command/turns.h"
#include "runner/run/executor.h"
#include "runner/run/noisy_tries.h"

namespace steady {

class CommandExecutor : public Executor {
public:
    explicit CommandExecutor(CommandSetup setup) : arms_(std::move(setup)) {}

    ProgramReport open() override { return arms_.prepare(); }
    OutputsReport correctness() override;
    Measured measure(const MeasureRequest& request) override;
    std::optional<protocol::ProfileReply> profile() override { return std::nullopt; }
    std::optional<StackProfile> stacks(int gate) override;

    void add_facts(Fingerprint& fingerprint) const { arms_.add_facts(fingerprint); }

private:
    using Values = std::map<std::string, std::vector<double>>;

    const Spec& spec() const { return *arms_.setup().spec; }
    void compare(const Gate& gate, OutputsReport& report);
    ArmOutput output_of(const std::string& arm, const Gate& gate);
    std::optional<ArmOutput> try_output(const std::string& arm, const Gate& gate,
                                        std::string& trouble);
    void keep_proof_files(const std::string& arm, const std::string& directory);
    CommandRun run_check(const std::vector<std::string>& argv);
    void try_metrics(const Gate& gate, OutputsReport& report);
    void warm_up(const Gate& gate);
    void compare_control(const Gate& gate, const ArmOutput& a, OutputsReport& report);
    ReadRun timed_run(const std::string& arm, const Gate& gate);
    Values turn(const std::string& arm, const Gate& gate, std::string& disturbed);
    bool in_lockstep() const;
    TurnValues turns(const Gate& gate, const std::string& coins, PairKind kind);
    void try_turns(const Gate& gate, OutputsReport& report);
    void measure_lockstep(const Gate& gate, Pair& pair, std::string& disturbed);
    void measure_processes(const MeasureRequest& request, const Gate& gate, Pair& pair,
                           std::string& disturbed, std::string& turn_of);
    void settle();
    // False: this metric has another unit than before and is left out. Throws where it decides.
    bool same_unit(const Gate& gate, const std::string& metric, const std::string& unit,
                   const std::string& arm);

    CommandArms arms_;
    // What each arm printed and wrote for the correctness gates, for its proofs.
    std::map<std::string, std::string> logs_, proof_files_;
    // The unit of each gate's metrics, as first read: "speed wall_ms" → "ms".
    std::map<std::string, std::string> units_;
    std::set<int> warm_;  // gates whose arms have run before
    bool measured_before_ = false;
    NoisyTries tries_;
};

}  // namespace steady
