// Pairs as rows: which measurement they belong to, what each arm took, who went first.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runner/pipeline/entry_data.h"

namespace steady {
namespace {

// The gate whose pairs are shown: the one that decides, else the first that owns any.
int shown_gate(const Record& record) {
    std::vector<int> owners;
    for (const Pair& pair : record.pairs) {
        if (pair.kind == PairKind::measure && pair.sealed) {
            owners.push_back(pair.gate);
        }
    }
    if (owners.empty()) {
        return -1;
    }
    const Gate* decides = deciding_gate(record.spec);
    for (const int owner : owners) {
        const bool known = owner >= 0 && owner < static_cast<int>(record.spec.gates.size());
        const Gate* gate = known ? &record.spec.gates[static_cast<std::size_t>(owner)] : nullptr;
        if (gate != nullptr && decides != nullptr && gate->level == decides->level) {
            return owner;
        }
    }
    return owners.front();
}

std::string order_words(const std::string& coins, std::size_t n_a_first) {
    if (coins.size() == 1) {
        return coins == "0" ? "A first" : "B first";
    }
    return fmt::format("A first in {} of {}", n_a_first, coins.size());
}

}  // namespace

std::string pairs_metric(const Record& record) {
    if (const Gate* decides = deciding_gate(record.spec)) {
        return decides->metric;
    }
    const int gate = shown_gate(record);
    return gate < 0 ? "" : record.spec.gates.at(static_cast<std::size_t>(gate)).metric;
}

}  // namespace steady
