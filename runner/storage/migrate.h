// Brings a database's schema up to this binary's. Migrations are numbered SQL files compiled into
// the binary, forward only; a file that changed after it was applied is an error.
#pragma once

#include <string>
#include <vector>

#include "runner/storage/connection.h"

namespace steady {

// Applies what is missing, under one advisory lock, all or nothing. Returns the names applied now.
// Throws Error: an applied file has another content here, or the database is newer than this
// binary.
std::vector<std::string> migrate(const std::string& url);

// The files that migrate() would apply. Throws like it.
std::vector<std::string> pending_migrations(const std::string& url);

// The newest migration of this binary: "0100_search".
std::string schema_version();
// SHA-256 of all its migrations, names and texts: what a database of this schema was made by.
std::string schema_hash();

// Throws Error when the database has migrations that this binary does not know: somebody brought it
// up to date for a newer one, and its functions may mean something else now.
void refuse_newer_schema(Connection& connection);

struct ChosenDatabase {
    std::string url;
    bool is_private = false;  // this user's own cluster, started when needed
};

// `given` (--db), else $STEADY_DATABASE_URL, else the private cluster's.
ChosenDatabase choose_database(const std::string& given = {}, bool keep_running = false);

// The chosen one's URL, with the schema that this binary was built for. A private one is brought up
// to date on the way; a shared one only by `steady db migrate`: throws Error that says so.
std::string database_url(const std::string& given = {}, bool keep_running = false);

}  // namespace steady
