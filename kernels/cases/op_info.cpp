// The list of ops. A function's static, because ops register before main.
#include "kernels/cases/op_info.h"

#include <algorithm>

namespace steady {
namespace {

std::vector<OpInfo>& list() {
    static std::vector<OpInfo> ops;
    return ops;
}

}  // namespace

void register_op(const OpInfo& op) {
    const auto place = std::find_if(list().begin(), list().end(),
                                    [&](const OpInfo& o) { return op.name < o.name; });
    list().insert(place, op);
}

const std::vector<OpInfo>& all_ops() { return list(); }

const OpInfo* find_op(std::string_view name) {
    for (const OpInfo& op : list()) {
        if (op.name == name) return &op;
    }
    return nullptr;
}

}  // namespace steady
