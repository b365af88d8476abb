// The runs of one question: what each was decided where, and what they say together. A question is
// the hash of what is asked (Record::question_sha); every run of it has an id, a machine, samples
// and a verdict of its own.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/judge/analysis.h"

namespace steady {

struct Run {
    std::string id, run_id, published;  // see Record; id is empty for a run that only lies as a
    std::string file;                   // record in the checkout: this file, below its root
    std::string question_sha, spec_sha;
    std::string record_sha;  // of an imported or shipped run, as its archive says
    std::string state, verdict, reason, metric;
    std::optional<double> effect;  // fraction, + is faster
    Interval interval;
    int pairs = 0;
    std::string host, cpu, cpu_class, gpu, revision;  // gpu: empty unless an arm ran on one
    std::string submitted_at, decided_at;             // ISO 8601, UTC
};

// The unit in which verdicts generalise: the GPU when an arm ran on one, else the CPU class.
const std::string& machine_class(const Run& run);

// The name of the GPU that `device` means ("cuda:0") on the machine of this fingerprint, or empty.
std::string gpu_name(const std::string& device, const std::map<std::string, std::string>& machine);
// The model of GPU that a machine's noise is kept under
// (storage/migrations/0204_noise_of_gpus.sql); empty for the CPU.
std::string noise_gpu(const std::string& device, const std::map<std::string, std::string>& machine);

enum class Agreement { undecided, never_repeated, agrees, differs_by_class, differs_on_one_class };
const char* name(Agreement agreement);

struct RunsSummary {
    Agreement agreement = Agreement::undecided;
    int runs = 0;     // that answered: accept or reject
    int classes = 0;  // of machines among them
    int silent = 0;   // inconclusive, invalid, cancelled, failed, or not decided yet
    std::string text;
};

// Of the verdicts alone, in whatever order the runs are given. A class from before families were
// stored ("intel-amx") counts as the one class with a family that fits it, if exactly one does.
RunsSummary summary_of(const std::vector<Run>& runs);

nlohmann::json run_json(const Run& run);
// {"summary": sentence, "agreement": word, "count": all, "runs": [...]}
nlohmann::json runs_json(const std::vector<Run>& runs);

}  // namespace steady
