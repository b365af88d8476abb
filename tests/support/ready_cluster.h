// A private PostgreSQL that has its schema already. It is made once for each schema, under /tmp,
// and copied into the state folder of a test, which takes a tenth of the time of initdb and
// migrations.
#pragma once

#include <string>

namespace steady {

// fsync off: for tests that need no power loss, which is most of them.
enum class Fsync { off, on };

// Puts a stopped cluster into a state folder that has none; the folder is made if it is missing.
void give_ready_cluster(const std::string& state_dir, Fsync fsync);

// Ends the server of a state folder that is thrown away next, without a last checkpoint.
void end_cluster(const std::string& state_dir);

}  // namespace steady
