// A question about two revisions of a fixture's program that prints how much work it does: counted,
// so that the verdict is sure on a busy machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace steady {

// The file without its id; run: the command of both arms.
inline nlohmann::json counted_revisions(const std::string& rev_a, const std::string& rev_b,
                                        const nlohmann::json& run) {
    return {
        {"owner", "test"},
        {"hypothesis",
         {{"claim", "A commit does no more work than the reference"},
          {"because", "each is compared with one pinned commit"}}},
        {"subject", {{"program", "outside"}, {"name", "counter"}, {"repo", "counter"}}},
        {"arms", {{"A", {{"rev", rev_a}, {"run", run}}}, {"B", {{"rev", rev_b}, {"run", run}}}}},
        {"expect_diff", {"rev"}},
        {"gates",
         {{{"id", "runs"}, {"level", "correctness"}, {"role", "guard"}, {"need", {{"exit", 0}}}},
          {{"id", "work"},
           {"level", "model"},
           {"role", "decides"},
           {"adapter", "lines"},
           {"metric", "work_items"},
           {"direction", "lower"},
           {"worth", "1%"}}}},
        {"schedule", {{"pairs", {{"max", 30}}}, {"aa_pairs", 0}, {"warmup_runs", 0}}}};
}

}  // namespace steady
