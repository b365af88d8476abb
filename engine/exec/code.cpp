// Looks a choice up in the generated table.
#include "engine/exec/code.h"

#include <algorithm>
#include <string>

namespace steady {

std::string_view code_of(std::string_view op, std::string_view variant) {
    for (std::string_view rest = variant; !rest.empty();) {
        const std::string name = std::string(op) + "/" + std::string(rest);
        const auto hashes = code_hashes();
        const auto found = std::find_if(hashes.begin(), hashes.end(),
                                        [&](const CodeHash& one) { return one.name == name; });
        if (found != hashes.end()) return found->hash;
        if (op != "mla" && op != "moe") return "";  // a kernel variant is one file
        const std::size_t last = rest.rfind('_');
        rest = last == std::string_view::npos ? "" : rest.substr(0, last);
    }
    return "";
}

}  // namespace steady
