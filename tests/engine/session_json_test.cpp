// The session's lines: what is written reads back, and nothing unknown or mistyped passes.
#include "engine/protocol/session_json.h"

#include <gtest/gtest.h>

namespace steady::protocol {
namespace {

template <class Message, class Variant>
void expect_round_trip(const Message& message, Variant (*read)(const std::string&)) {
    const std::string line = to_line(Variant{message});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(to_line(read(line)), line);
}

TEST(SessionJson, EveryMessageReadsBack) {
    expect_round_trip(
        OpenRequest{"n", {{"A", {}}, {"B", {{{"*", "reference"}}, {}, 2, {}}}}, 64, 7},
        &request_from_line);
    expect_round_trip(CorrectnessRequest{"n", "text\n\"quoted\" ü", 4, 8, 5}, &request_from_line);
    expect_round_trip(DuetRequest{"n", "block", "0110", 4, 8, 8, 2, "x", 5}, &request_from_line);
    expect_round_trip(ProfileRequest{"n", 3, 2, "x", 5}, &request_from_line);
    expect_round_trip(QuitRequest{"n"}, &request_from_line);
    OpenReply open{"n", 1, "abc", "deepseek2", "m", 3, {}, {{"rope", {"n_heads=1,n_rot=2"}}}};
    open.arms["A"] = {{{"rope", {"reference", "flag", 2.5, 1, "c0de"}}},
                      {{"moe", "fused"}},
                      {{"moe", "c0de"}},
                      2,
                      {},
                      9,
                      123};
    expect_round_trip(open, &reply_from_line);
    expect_round_trip(CorrectnessReply{"n", 3, 1, 1e-9, 1e-8, 0.5, 0.01, true}, &reply_from_line);
    expect_round_trip(DuetReply{"n", {{1.5, 2}, {0, 3}, 4, 5, 6, 7, 8}, {}, 1, 0, 0},
                      &reply_from_line);
    expect_round_trip(
        DuetReply{"n",
                  {{1.5, 2}, {0, 3}, 4, 5, 6, 7, 8, {1980, 1965}, {2619, 2619}, {0, 4}},
                  {},
                  1,
                  0,
                  0},
        &reply_from_line);
    expect_round_trip(ProfileReply{"n", {{"A", {{"rope", "avx512", 1, 2, 3}}}}, {}, {}},
                      &reply_from_line);
    expect_round_trip(QuitReply{"n"}, &reply_from_line);
    expect_round_trip(ErrorReply{"n", "why"}, &reply_from_line);
}

// An engine that is older than a field refuses its name, so a field at its default is not sent.
TEST(SessionJson, RequestsLeaveOutDefaults) {
    DuetRequest request{"n", "block", "0110", 4, 8, 8, 2, "x", 0};
    EXPECT_EQ(to_line(Request{request}).find("depth"), std::string::npos);
    request.depth = 5;
    EXPECT_NE(to_line(Request{request}).find("\"depth\":5"), std::string::npos);
    EXPECT_NE(to_line(Request{request}).find("\"text\":\"x\""), std::string::npos);
    EXPECT_NE(to_line(Reply{DuetReply{}}).find("\"steal_share\":0"), std::string::npos);
    // The runner turns a request into a library's JSON by itself and adds the type to that.
    EXPECT_EQ(nlohmann::json(request).at("depth"), 5);
    request.depth = 0;
    EXPECT_FALSE(nlohmann::json(request).contains("depth"));
    EXPECT_TRUE(nlohmann::json(DuetReply{}).contains("steal_share"));
}

// Of an arm on the CPU the reply is what it was before clocks were read.
TEST(SessionJson, RepliesLeaveOutClocksThatWereNotRead) {
    EXPECT_EQ(to_line(Reply{DuetReply{}}).find("clock"), std::string::npos);
    DuetReply reply;
    reply.a.sm_clock_mhz = {1980};
    EXPECT_NE(to_line(Reply{reply}).find("\"sm_clock_mhz\":[1980"), std::string::npos);
}

TEST(SessionJson, LargeSeedsSurvive) {
    OpenRequest request{"n", {{"A", {}}, {"B", {}}}, 64, UINT64_MAX};
    const Request back = request_from_line(to_line(Request{request}));
    EXPECT_EQ(std::get<OpenRequest>(back).layout_seed, UINT64_MAX);
}

std::string error_of(const std::string& line) {
    try {
        request_from_line(line);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(SessionJson, WrongLinesNameTheField) {
    const std::string deep(10000, '[');
    EXPECT_NE(error_of("").find("not JSON"), std::string::npos);
    EXPECT_NE(error_of("[]").find("allowed an object"), std::string::npos);
    EXPECT_NE(error_of("{}").find("/type"), std::string::npos);
    EXPECT_NE(error_of(R"({"type":"dance","nonce":"1"})").find("open, correctness, duet"),
              std::string::npos);
    EXPECT_NE(error_of(R"({"type":"quit"})").find("/nonce"), std::string::npos);
    EXPECT_NE(error_of(R"({"type":"quit","nonce":1})").find("a string"), std::string::npos);
    EXPECT_NE(error_of(R"({"type":"quit","nonce":"1","extra":0})").find("/extra"),
              std::string::npos);
    EXPECT_NE(error_of(R"({"type":"open","nonce":"1","arms":{"A":{"threads":"2"}}})")
                  .find("/arms/A/threads"),
              std::string::npos);
    EXPECT_NE(error_of(R"({"type":"open","nonce":"1","arms":{"A":{"type":"x"}}})").find("/arms/A"),
              std::string::npos);
    EXPECT_NE(
        error_of(R"({"type":"open","nonce":"1","arms":{},"context":9999999999})").find("/context"),
        std::string::npos);
    EXPECT_NE(
        error_of(R"({"type":"open","nonce":"1","arms":{},"layout_seed":-1})").find("/layout_seed"),
        std::string::npos);
    EXPECT_NE(error_of(R"({"type":"open","nonce":"1","arms":{},"context":1.5})").find("/context"),
              std::string::npos);
    EXPECT_NE(error_of(deep).find("deeper"), std::string::npos);
}

TEST(SessionJson, AReplyMustBeWhole) {
    EXPECT_THROW(reply_from_line(R"({"type":"correctness","nonce":"1","positions":3})"), Error);
}

}  // namespace
}  // namespace steady::protocol
