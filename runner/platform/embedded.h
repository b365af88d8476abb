// Files compiled into the binary (migrations, page assets), so that an installed steady needs no
// source tree beside it. Filled by steady_embed() in CMake.
#pragma once

#include <span>
#include <string_view>

namespace steady {

struct EmbeddedFile {
    std::string_view name;  // path relative to the embedded folder, e.g. "views/overview.js"
    std::string_view bytes;
};

}  // namespace steady
