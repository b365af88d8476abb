// A candidate is stale when one of its sides has changed since it was found; it is then skipped,
// which is cheaper than taking it out of the heap.
#include "engine/text/bpe.h"

#include <queue>

namespace steady {
namespace {

struct Candidate {
    std::int32_t rank;
    std::int32_t left, right;  // positions in the list
    Symbol left_symbol, right_symbol, result;

    bool operator<(const Candidate& other) const {  // the heap's top is the greatest
        return rank != other.rank ? rank > other.rank : left > other.left;
    }
};

constexpr Symbol kGone = -1;

}  // namespace

void BytePairMerger::add(Symbol left, Symbol right, Merge merge) {
    merges_.try_emplace(key(left, right), merge);
}

std::vector<Symbol> BytePairMerger::run(std::vector<Symbol> symbols) const {
    const auto n = static_cast<std::int32_t>(symbols.size());
    std::vector<std::int32_t> next(symbols.size());
    std::vector<std::int32_t> previous(symbols.size());
    std::priority_queue<Candidate> queue;
    const auto at = [](std::int32_t position) { return static_cast<std::size_t>(position); };
    const auto consider = [&](std::int32_t left, std::int32_t right) {
        if (left < 0 || right >= n) return;
        const Symbol a = symbols[at(left)];
        const Symbol b = symbols[at(right)];
        const auto found = merges_.find(key(a, b));
        if (found == merges_.end()) return;
        queue.push({found->second.rank, left, right, a, b, found->second.result});
    };
    for (std::int32_t i = 0; i < n; ++i) {
        next[at(i)] = i + 1;
        previous[at(i)] = i - 1;
        consider(i - 1, i);
    }
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        if (symbols[at(best.left)] != best.left_symbol ||
            symbols[at(best.right)] != best.right_symbol) {
            continue;
        }
        symbols[at(best.left)] = best.result;
        symbols[at(best.right)] = kGone;
        const std::int32_t after = next[at(best.right)];
        next[at(best.left)] = after;
        if (after < n) previous[at(after)] = best.left;
        consider(previous[at(best.left)], best.left);
        consider(best.left, after);
    }
    std::vector<Symbol> merged;
    for (const Symbol symbol : symbols) {
        if (symbol != kGone) merged.push_back(symbol);
    }
    return merged;
}

}  // namespace steady
