// A program whose work is counted, not timed: it reports its steps, so that what a test plants is
// there on every machine, however busy. For questions with the adapter `lines`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace steady {

// usage: sh steps.sh STEPS [crash|other]. POOL=N divides the steps, HIDDEN=N sets them.
inline std::string counted_program() {
    return R"(n=$1
[ -n "$POOL" ] && n=$((n / POOL))
[ -n "$HIDDEN" ] && n=$HIDDEN
[ "$2" = crash ] && exit 3
[ "$2" = other ] && echo "something else" || echo "steps of $1"
printf '{"metric": "steps", "value": %d, "unit": "count"}\n' "$n"
)";
}

// Arms A and B run it with 400 steps; a test changes what it asks about.
inline nlohmann::json counted_question() {
    return nlohmann::json::parse(R"({
        "owner": "tests",
        "hypothesis": { "claim": "B takes fewer steps than A", "because": "it has less to do" },
        "subject": { "program": "outside", "name": "steps" },
        "arms": { "A": { "run": ["sh", "steps.sh"], "args": ["400"] },
                  "B": { "run": ["sh", "steps.sh"], "args": ["400"] } },
        "expect_diff": [],
        "gates": [
            { "id": "same", "level": "correctness", "role": "guard",
              "need": { "stdout": "matches:steps of" } },
            { "id": "speed", "level": "model", "role": "decides", "metric": "steps",
              "adapter": "lines", "direction": "lower" } ],
        "schedule": { "pairs": { "max": 20 }, "aa_pairs": 2, "warmup_runs": 0 }
    })");
}

}  // namespace steady
