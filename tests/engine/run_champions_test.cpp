// The defaults against what is registered: a misspelt or deleted name would be passed over in
// silence when a plan is resolved.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/champions.h"
#include "engine/model/steps.h"
#include "kernels/base/registry.h"

namespace steady {
namespace {

template <class Named>
bool has_name(const Named& named, std::string_view name) {
    return std::any_of(named.begin(), named.end(), [&](const auto& one) {
        if constexpr (requires { one->name; }) {
            return one->name == name;
        } else {
            return one.name == name;
        }
    });
}

TEST(Champions, EachNameIsRegisteredOnce) {
    ASSERT_FALSE(champions().empty());
    for (const Champion& one : champions()) {
        const bool exists = one.op == "moe"   ? has_name(moe_alternatives(), one.variant)
                            : one.op == "mla" ? has_name(mla_alternatives(), one.variant)
                                              : has_name(variants_of(one.op), one.variant);
        EXPECT_TRUE(exists) << one.op << " has no " << one.variant;
        const auto same = std::count_if(
            champions().begin(), champions().end(),
            [&](const Champion& c) { return c.op == one.op && c.variant == one.variant; });
        EXPECT_EQ(same, 1) << one.op << ' ' << one.variant;
    }
}

}  // namespace
}  // namespace steady
