// Byte-pair merging of one piece of text. A heap of candidate pairs over a linked list makes it
// n log n, so that a megabyte without a break costs a second and not a day.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace steady {

// Texts that can stand in a piece while it is merged: bytes, merge results, whole tokens. Numbered
// on their own, since a merge may produce a text that is no token.
using Symbol = std::int32_t;

struct Merge {
    std::int32_t rank;  // lower merges first
    Symbol result;
};

class BytePairMerger {
public:
    // The first rank given for a pair counts.
    void add(Symbol left, Symbol right, Merge merge);
    void reserve(std::size_t n_merges) { merges_.reserve(n_merges); }

    // Merges `symbols` (one per byte at first) until no pair can be merged. Pairs go in order of
    // rank, equal ranks from left to right.
    std::vector<Symbol> run(std::vector<Symbol> symbols) const;

private:
    static std::uint64_t key(Symbol left, Symbol right) {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
               static_cast<std::uint32_t>(right);
    }
    struct Hash {
        std::size_t operator()(std::uint64_t value) const {
            value *= 0x9E3779B97F4A7C15U;
            return static_cast<std::size_t>(value ^ (value >> 32));
        }
    };
    std::unordered_map<std::uint64_t, Merge, Hash> merges_;
};

}  // namespace steady
