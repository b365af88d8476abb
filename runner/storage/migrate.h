// Brings a database's schema up to this binary's. Migrations are numbered SQL files compiled into
// the binary, forward only; a file that changed after it was applied is an error, not a surprise.
#pragma once

#include <string>
#include <vector>

namespace steady {

// Applies what is missing, under one advisory lock, all or nothing. Returns the names applied now.
// Throws Error: an applied file has another content here, or the database is newer than this
// binary.
std::vector<std::string> migrate(const std::string& url);

// The URL to use: `given` (--db), else $STEADY_DATABASE_URL, else the private cluster's.
// Migrates on the way, so that every caller finds the schema that it was built for.
std::string database_url(const std::string& given = {}, bool keep_running = false);

}  // namespace steady
