// The Source that queries runner/storage.
#pragma once

#include "dashboard/server/source.h"

namespace steady::web {

// Each call of the result opens a connection of its own (statement timeout 2 s).
MakeSource store_source(const std::string& database_url);

// True when at least one token is neither revoked nor expired.
bool has_token(const std::string& database_url);

}  // namespace steady::web
