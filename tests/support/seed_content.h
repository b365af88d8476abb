// What the made-up experiments say: questions, machines and outcomes that look like real ones.
#pragma once

#include <random>
#include <string>

#include "runner/record/record.h"
#include "runner/record/stacks.h"

namespace steady::seed {

struct Question {
    std::string spec_text;  // an experiment file
    std::string id;
    double truth = 0;  // the effect that the made-up pairs scatter around, log ratio
};

// The n-th question; ids differ for different n.
Question question(int n, std::mt19937_64& random);

// Pair values around truth, judged by a simple rule of thumb (this is scenery, not statistics).
Analysis outcome(const Spec& spec, double truth, int n_pairs, std::mt19937_64& random);

protocol::ProfileReply profile(const Spec& spec, double truth);
StackProfile stacks(double truth);  // one function's time follows the truth; one name is hostile
protocol::OpenReply applied(const Spec& spec);
Fingerprint fingerprint(int host);

}  // namespace steady::seed
