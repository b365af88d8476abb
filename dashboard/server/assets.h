// The page's files, compiled in: nothing of a request ever reaches open().
#pragma once

#include <string>
#include <string_view>

namespace steady::web {

struct Asset {
    std::string_view name, bytes;
    std::string type;  // media type
    std::string etag;  // quoted hash of the bytes
};

// nullptr when there is no such file.
const Asset* find_asset(std::string_view name);

}  // namespace steady::web
