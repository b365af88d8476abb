// A whole session on a tiny model, through the same streams that the program uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "engine/protocol/session_json.h"
#include "engine/run/session.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

using namespace protocol;  // NOLINT: messages of the session

std::vector<Reply> serve(const std::vector<std::string>& lines,
                         const std::string& model = "tiny-glm") {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    std::istringstream in(all);
    std::ostringstream out;
    serve_session(tiny::path(model), in, out);
    std::vector<Reply> replies;
    std::istringstream back(out.str());
    for (std::string line; std::getline(back, line);) replies.push_back(reply_from_line(line));
    return replies;
}

std::string open_line(ArmRequest a, ArmRequest b, int context = 64) {
    for (ArmRequest* arm : {&a, &b}) {
        if (arm->threads == 0) arm->threads = 1;  // tests run beside other tests
    }
    return to_line(Request{OpenRequest{"o", {{"A", a}, {"B", b}}, context, 42}});
}

DuetRequest small_duet(const std::string& coins) {
    return {"d", "model", coins, 2, 2, 6, 3, "one two three"};
}

TEST(Session, OpenReportsWhatWillRun) {
    ArmRequest reference{{{"*", "reference"}}, {{"moe", "unfused"}}, 1, {{"burn", "0.5%"}}};
    const auto replies = serve({open_line({}, reference)});
    ASSERT_EQ(replies.size(), 1u);
    const auto& open = std::get<OpenReply>(replies[0]);
    EXPECT_EQ(open.architecture, "deepseek2");
    EXPECT_EQ(open.n_blocks, 3);
    const AppliedArm& a = open.arms.at("A");
    const AppliedArm& b = open.arms.at("B");
    EXPECT_EQ(a.steps.at("moe"), "fused");
    EXPECT_EQ(b.steps.at("moe"), "unfused");
    EXPECT_EQ(a.kernels.at("q4_0_experts").calls_per_token, 2);
    EXPECT_EQ(b.kernels.at("q4_0_experts").calls_per_token, 0);
    EXPECT_EQ(a.kernels.at("q4_0_matmul").calls_per_token, 0);
    EXPECT_GT(a.kernels.at("q4_0_matmul").calls_per_pass, 0);
    EXPECT_EQ(b.kernels.at("q4_0_experts").variant, "reference");
    EXPECT_EQ(b.kernels.at("q4_0_experts").reason, "flag");
    EXPECT_EQ(b.engine_flags.at("burn"), "0.5%");
    EXPECT_EQ(a.engine_flags.at("burn"), "0%");
    EXPECT_GT(b.launches_per_token, a.launches_per_token);
    EXPECT_EQ(a.weight_bytes_per_token, b.weight_bytes_per_token);
    EXPECT_FALSE(open.op_shapes.at("q4_0_matvec").empty());
}

TEST(Session, DuetFollowsTheCoins) {
    const auto replies = serve({open_line({}, {}), to_line(Request{small_duet("0110")}),
                                to_line(Request{QuitRequest{"q"}})});
    ASSERT_EQ(replies.size(), 3u);
    const auto& duet = std::get<DuetReply>(replies[1]);
    EXPECT_EQ(duet.nonce, "d");
    ASSERT_EQ(duet.a.token_ns.size(), 8u);
    ASSERT_EQ(duet.b.start_ns.size(), 8u);
    for (std::size_t block = 0; block < 4; ++block) {
        const bool a_first = std::string("0110")[block] == '0';
        EXPECT_EQ(duet.a.start_ns[2 * block] < duet.b.start_ns[2 * block], a_first);
        // The second arm starts when the first has given its whole chunk.
        const auto& first = a_first ? duet.a : duet.b;
        const auto& second = a_first ? duet.b : duet.a;
        EXPECT_GT(second.start_ns[2 * block],
                  first.start_ns[2 * block + 1] +
                      static_cast<std::int64_t>(first.token_ns[2 * block + 1]) - 1);
    }
    for (const double ns : duet.a.token_ns) EXPECT_GT(ns, 0);
    // Of the whole prompt, so longer than some token; one token may be held up by other programs.
    EXPECT_GT(duet.a.ttft_ns, *std::min_element(duet.a.token_ns.begin(), duet.a.token_ns.end()));
    EXPECT_EQ(duet.a.rss_bytes, duet.b.rss_bytes);
    EXPECT_GT(duet.sentinel_gb_per_s, 0);
    EXPECT_EQ(std::get<QuitReply>(replies[2]).nonce, "q");
}

TEST(Session, BlockAndFeedForwardScopesRun) {
    for (const char* scope : {"block", "ffn"}) {
        DuetRequest request = small_duet("0101");
        request.scope = scope;
        const auto replies = serve({open_line({}, {}), to_line(Request{request})});
        EXPECT_EQ(std::get<DuetReply>(replies.at(1)).a.token_ns.size(), 8u) << scope;
    }
}

TEST(Session, CorrectnessTellsEqualFromDifferent) {
    const std::string ask = to_line(Request{CorrectnessRequest{"c", "some text here", 3, 6}});
    const auto same = serve({open_line({}, {}), ask});
    const auto& equal = std::get<CorrectnessReply>(same.at(1));
    EXPECT_EQ(equal.positions, 6);
    EXPECT_EQ(equal.top1_agree, 1);
    EXPECT_EQ(equal.max_abs, 0);
    ArmRequest other;
    other.steps["mla"] = "materialised";
    const auto differ = serve({open_line({{{"*", "reference"}}, {}, 1, {}}, other), ask});
    const auto& rounded = std::get<CorrectnessReply>(differ.at(1));
    EXPECT_GT(rounded.max_abs, 0);
    EXPECT_LT(rounded.rel_l2, 0.2);
    EXPECT_FALSE(rounded.non_finite);
}

TEST(Session, DepthRepeatsThePromptsRows) {
    if (STEADY_SANITIZED) GTEST_SKIP() << "runs no line that the tests of passes do not";
    ArmRequest exact{{{"*", "reference"}}, {}, 1, {}};
    ArmRequest full = exact;
    full.steps["mla"] = "materialised";
    CorrectnessRequest ask{"c", "some text here", 16, 6, 40};
    const auto replies = serve({open_line(exact, full, 64), to_line(Request{ask})});
    const auto& deep = std::get<CorrectnessReply>(replies.at(1));
    EXPECT_LT(deep.rel_l2, 1e-5) << "both forms of the cache are repeated";
    EXPECT_GT(deep.max_abs, 0);
    ArmRequest bytes = exact;
    bytes.steps["mla"] = "heads_q8";
    const auto rounded = serve({open_line(exact, bytes, 64), to_line(Request{ask})});
    EXPECT_LT(std::get<CorrectnessReply>(rounded.at(1)).rel_l2, 0.2) << "groups are repeated";
    ask.prompt_tokens = 7;
    const auto odd = serve({open_line(exact, bytes, 64), to_line(Request{ask})});
    EXPECT_LT(std::get<CorrectnessReply>(odd.at(1)).rel_l2, 0.2) << "in parts too";
}

TEST(Session, DepthIsSeenByAttention) {
    DuetRequest duet = small_duet("0101");
    duet.depth = 30;
    ProfileRequest profile{"p", 4, 2, "text", 50, false};
    const auto replies =
        serve({open_line({}, {}), to_line(Request{duet}), to_line(Request{profile})});
    EXPECT_EQ(std::get<DuetReply>(replies.at(1)).a.token_ns.size(), 8u);
    profile.depth = 0;
    const auto shallow = serve({open_line({}, {}), to_line(Request{profile})});
    const auto cache_bytes = [](const Reply& reply) {
        for (const ProfileRow& row : std::get<ProfileReply>(reply).arms.at("A")) {
            if (row.op.starts_with("mla_attention")) return row.bytes_per_token;
        }
        return 0.0;
    };
    const double at_4 = cache_bytes(shallow.at(1));  // positions 2 … 5: 4.5 rows a token
    EXPECT_DOUBLE_EQ(cache_bytes(replies.at(2)), at_4 / 4.5 * 54.5);
    duet.depth = 60;  // beyond the context
    const auto refused = serve({open_line({}, {}), to_line(Request{duet})});
    EXPECT_NE(std::get<ErrorReply>(refused.at(1)).error.find("context"), std::string::npos);
}

TEST(Session, ProfileCountsCallsAndBytes) {
    const auto replies =
        serve({open_line({}, {}), to_line(Request{ProfileRequest{"p", 4, 2, "text"}})});
    const auto& profile = std::get<ProfileReply>(replies.at(1));
    double bytes = 0;
    for (const ProfileRow& row : profile.arms.at("A")) {
        EXPECT_GT(row.calls_per_token, 0) << row.op;
        bytes += row.bytes_per_token;
    }
    const auto& open = std::get<OpenReply>(replies.at(0));
    const auto weights = static_cast<double>(open.arms.at("A").weight_bytes_per_token);
    EXPECT_NEAR(bytes, weights, 0.1 * weights);  // norms are not counted, the cache is
    EXPECT_EQ(profile.launches_per_token.at("B"), open.arms.at("B").launches_per_token);
    EXPECT_EQ(profile.read_gb_per_s, 0);  // the weights stay in the cache
}

TEST(Session, WrongRequestsAreAnsweredAndTheSessionGoesOn) {
    const std::vector<std::string> wrong = {
        "nonsense",
        R"({"type":"duet","nonce":"1","coins":"0","text":"x"})",  // before open
        R"({"type":"open","nonce":"2","arms":{"A":{}}})",
        R"({"type":"open","nonce":"3","arms":{"A":{},"B":{"kernels":{"q4_0_matvec":"nope"}}}})",
        R"({"type":"open","nonce":"4","arms":{"A":{},"B":{"kernels":{"no_op":"reference"}}}})",
        R"({"type":"open","nonce":"5","arms":{"A":{},"B":{"steps":{"moe":"nope"}}}})",
        R"({"type":"open","nonce":"6","arms":{"A":{},"B":{"engine_flags":{"burn":"much"}}}})",
        R"({"type":"open","nonce":"7","arms":{"A":{},"B":{}},"context":0})",
        R"({"type":"open","nonce":"8","arms":{"A":{},"B":{}},"context":16000000})",
    };
    std::vector<std::string> lines = wrong;
    lines.push_back(open_line({}, {}));
    for (const char* bad : {R"({"type":"duet","nonce":"9","coins":"01","text":"x"})",
                            R"({"type":"duet","nonce":"10","coins":"0121","chunk":2,)"
                            R"("warmup_tokens":2,"tokens":6,"text":"x"})",
                            R"({"type":"duet","nonce":"11","coins":"0101","chunk":2,)"
                            R"("warmup_tokens":2,"tokens":6,"text":""})",
                            R"({"type":"correctness","nonce":"12","text":"x","tokens":1000})"}) {
        lines.push_back(bad);
    }
    lines.push_back(to_line(Request{small_duet("0011")}));
    const auto replies = serve(lines);
    ASSERT_EQ(replies.size(), lines.size());
    for (std::size_t i = 0; i < replies.size(); ++i) {
        const bool good = i == wrong.size() || i + 1 == replies.size();
        EXPECT_EQ(!std::holds_alternative<ErrorReply>(replies[i]), good) << lines[i];
    }
    const auto& unknown = std::get<ErrorReply>(replies[3]);
    EXPECT_EQ(unknown.nonce, "3");
    EXPECT_NE(unknown.error.find("reference"), std::string::npos) << "must list the choices";
    EXPECT_NE(std::get<ErrorReply>(replies[8]).error.find("KV cache"), std::string::npos);
}

TEST(Session, BurnLengthensTokensByItsShare) {
    // No timing in the verdict of a test: only that the flag reaches the token's own latency.
    ArmRequest slow;
    slow.engine_flags["burn"] = "100%";
    const auto replies = serve({open_line({}, slow), to_line(Request{small_duet("0101")})});
    const auto& duet = std::get<DuetReply>(replies.at(1));
    EXPECT_GT(*std::min_element(duet.b.token_ns.begin(), duet.b.token_ns.end()), 0);
}

}  // namespace
}  // namespace steady
