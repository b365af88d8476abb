// A real PostgreSQL for tests: one private cluster per test program under /tmp, one fresh, migrated
// database per object. Nothing is shared with the user's own cluster.
#pragma once

#include <string>
#include <vector>

#include "runner/plan/sample.h"
#include "runner/spec/spec.h"
#include "runner/storage/private_cluster.h"

namespace steady {

class ThrowawayDatabase {
public:
    ThrowawayDatabase();

    const std::string& url() const { return url_; }
    // Kills the server without warning; the next restart() recovers.
    static void kill_server();
    static void restart_server();
    static void stop_server();
    // Sets a server setting for all new sessions, e.g. ("synchronous_commit", "off").
    static std::string base_dir();

private:
    std::string url_;
};

// A valid experiment with a block guard and a deciding model gate.
Spec example_spec(const std::string& id = "example-spec", const std::string& claim = {});

// aa pairs and measure pairs of the model gate, one coin pattern each.
std::vector<Pair> example_plan(int n_pairs, int n_aa = 1);

// The pair with values: n token times per arm, all positive and distinct.
Pair measured(Pair pair, int n_values = 4);

}  // namespace steady
