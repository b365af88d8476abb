// Greedy decoding chooses the tokens that a host would choose from the same arm's logits: on the
// CPU, and on a GPU that goes on before the host knows them. Without a GPU that test is skipped.
#include <gtest/gtest.h>

#include "engine/run/decode.h"
#include "engine/run/greedy.h"
#include "engine/run/model.h"
#include "engine/text/sampler.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

using Tokens = std::vector<std::int32_t>;

Tokens chosen_by_host(Arm& arm, const Tokens& prompt, std::size_t n) {
    Tokens made{greedy_token(feed(arm, prompt))};
    while (made.size() < n) {
        const auto position = static_cast<std::int64_t>(prompt.size() + made.size()) - 1;
        made.push_back(greedy_token(feed(arm, {&made.back(), 1}, position)));
    }
    return made;
}

Tokens chosen(Arm& arm, const Tokens& prompt, std::size_t n, std::int64_t most) {
    Greedy greedy(arm, prompt, most);
    Tokens made;
    while (made.size() < n) made.push_back(greedy.next());
    return made;
}

class Chosen : public testing::TestWithParam<std::string> {
protected:
    // n tokens behind each prompt, then three of a text that could go on.
    void expect_the_hosts(const ArmOptions& options, std::size_t n) {
        Model model(tiny::path(GetParam()));
        auto arms = model.make_arms({options}, static_cast<std::int64_t>(n) + 64);
        for (const tiny::Prompt& prompt : tiny::prompts(GetParam())) {
            const Tokens expected = chosen_by_host(*arms[0], prompt.tokens, n);
            const auto most = static_cast<std::int64_t>(n);
            EXPECT_EQ(chosen(*arms[0], prompt.tokens, n, most), expected);
            EXPECT_EQ(chosen(*arms[0], prompt.tokens, 3, most),
                      Tokens(expected.begin(), expected.begin() + 3));
        }
    }
};

TEST_P(Chosen, OnTheCpu) {
    for (const char* block : {"apart", "joined"}) {
        ArmOptions options;
        options.plan = {{{"*", "reference"}}, {{"block", block}}};
        options.threads.threads = 1;
        SCOPED_TRACE(block);
        expect_the_hosts(options, 16);
    }
}

// Far enough for more than one recorded pass.
TEST_P(Chosen, OnAGpuHoweverLaunchesAreIssued) {
    if (const std::string why = gpu::why_none(); !why.empty()) GTEST_SKIP() << why;
    ArmOptions options;
    set_engine_flag(options, "device", "cuda");
    const bool whole = Model(tiny::path(GetParam())).make_arms({options}, 8)[0]->plan.block->whole;
    for (const std::string launch : {"stream", "graph", "dependent", "persistent"}) {
        if (launch == "persistent" && !whole) continue;
        set_engine_flag(options, "launch", launch);
        SCOPED_TRACE(launch);
        expect_the_hosts(options, 400);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Chosen, testing::ValuesIn(tiny::kModels), [](const auto& model) {
    std::string name = model.param;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

}  // namespace
}  // namespace steady
