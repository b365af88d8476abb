// Made-up experiments in any number, so that the page can be measured with a full database and
// looked at with every kind of verdict. Not a test double: rows go through the real tables and the
// real JSON of an analysis. Never meant for a database with true records: it refuses one.
#pragma once

#include <cstdint>
#include <string>

namespace steady {

struct SeedOptions {
    std::string url;
    int n_experiments = 200;
    std::int64_t n_samples = 20000;  // rows of table sample, spread over the decided experiments
    std::uint64_t seed = 1;
    bool with_queue = true;  // one running, three waiting
};

// Throws Error when the database already holds an experiment.
void seed_records(const SeedOptions& options);

// Three series of made-up commits on the made-up machines: a slow-down that was mended, a gain, and
// nothing but noise. Judged by the real rule.
void seed_series(const std::string& url, std::uint64_t seed);

}  // namespace steady
