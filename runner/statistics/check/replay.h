// Applies today's rule to recorded trials ("journal-corpus v1") and compares its verdict with the
// engineers' decision. The recorded runs had a fixed order, so the symmetry that a random order
// gives is assumed here, not guaranteed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace steady {

struct ReplayedRecord {
    std::string id, title, human_decision;
    std::string verdict;         // accept, reject, inconclusive; empty: not an A/B decision
    std::string reason;          // wrong_output, regression, … or empty
    std::optional<bool> agrees;  // same action as the engineer; absent when there was none
    bool drifting = false;       // a short run's tokens rose by more than 10 %
    std::string sentence;        // the verdict, or the difference, in one sentence
    nlohmann::json replay;       // the fields of the corpus' own `replay`, recomputed
};

struct Replay {
    std::vector<ReplayedRecord> records;
    int n_agree = 0, n_differ = 0, n_without_decision = 0;
};

// As the corpus and the vectors write verdicts.
std::string capitals(std::string word);
// corpus: the whole document. Throws Error (exit 2) when it has no array "records"; a record that
// cannot be read is named with its place.
Replay replay_corpus(const nlohmann::json& corpus);

std::string replay_text(const Replay& replay);
nlohmann::json replay_json(const Replay& replay);

}  // namespace steady
