// A small experiment on tiny-glm.gguf of tests/data/models, ready to be changed by a test.
#pragma once

#include <nlohmann/json.hpp>

namespace steady {

inline nlohmann::json small_experiment() {
    return nlohmann::json::parse(R"({
        "id": "small", "owner": "tests",
        "hypothesis": {
            "claim": "Vector instructions make the experts faster than plain loops",
            "because": "many products at once instead of one after the other",
            "predict": { "metric": "decode_tps", "change": ["+5%", "+90%"] } },
        "subject": { "program": "steady-engine", "model": "tiny-glm.gguf", "workload": "prose",
                     "threads": 2 },
        "arms": { "A": { "kernels": { "q4_0_experts": "reference" } },
                  "B": { "kernels": { "q4_0_experts": "avx2" } } },
        "expect_diff": ["kernels.q4_0_experts"],
        "gates": [
            { "id": "tokens", "level": "correctness", "role": "guard",
              "need": { "top1_agree": ">=0.9", "kl": "<=0.05" } },
            { "id": "decode", "level": "model", "role": "decides", "metric": "decode_tps",
              "goal": "gain", "worth": "1%" } ],
        "schedule": { "mode": "duet", "seed": 11, "pairs": { "max": 50 }, "aa_pairs": 2,
                      "warmup_tokens": 8, "tokens": 16 }
    })");
}

// The same for tests that hold whichever verdict it ends with: few pairs, and one thread, which
// waits for no other one that a busy machine keeps from running.
inline nlohmann::json quick_experiment() {
    nlohmann::json spec = small_experiment();
    spec["subject"]["threads"] = 1;
    spec["schedule"]["pairs"]["max"] = 10;
    return spec;
}

}  // namespace steady
