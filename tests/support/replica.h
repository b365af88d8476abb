// A streaming replica of a private cluster, for tests in which the primary dies.
#pragma once

#include <functional>
#include <string>

#include "runner/storage/cluster_server.h"

namespace steady {

// The first field of the first row; empty for no row or NULL.
std::string ask(const std::string& url, const std::string& query);

// Whether it holds within this time. A server that does not answer yet counts as no.
bool until(double most_s, const std::function<bool()>& holds);

// Copies the primary into the replica's data directory, to be run by spawn(). `host` is the
// primary's address or socket directory.
SpawnPlan base_backup(const cluster::Layout& replica, const std::string& host);

// Spawns it and waits for its end. Throws Error when it fails.
void run_to_end(const SpawnPlan& plan);

// Tells the primary to wait for the replica's answer, or not to, and waits until it streams so.
[[nodiscard]] bool stream(const std::string& primary_url, bool synchronous);

// Stops the clusters below base/one and base/two and removes the folder.
void remove_pair(const std::string& base);

}  // namespace steady
