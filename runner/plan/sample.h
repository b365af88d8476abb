// Measurements as stored: pairs in their drawn order and the values of both arms. The analysis is a
// function of these alone, so a verdict can be recomputed at any time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace steady {

enum class PairKind { measure, aa, control, warmup };

struct Pair {
    int gate = 0;     // index in Spec::gates of the gate that owns the measurement (see plan.h)
    int number = 0;   // 0-based within gate and kind
    int attempt = 0;  // 0, then one more for each repeat of a discarded pair
    PairKind kind = PairKind::measure;
    std::string coins;      // one per block, '0' = A (baseline) first; process pairs: one
    std::string discarded;  // empty, or the label-free reason
    bool sealed = false;    // all values of both arms are stored
    // metric → values by rep, in order of measurement. Raw metrics: token_ns, block_ns, ffn_ns,
    // op_ns (warm-up included), and single values ttft_ns, rss_bytes, launches_per_token.
    std::map<std::string, std::vector<double>> a, b;
};

const char* name(PairKind kind);

}  // namespace steady
