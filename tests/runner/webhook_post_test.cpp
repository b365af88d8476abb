// The alert's one request, against a real socket: what it sends, and that no answer, a bad answer
// and silence are all told apart within the deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "kernels/base/error.h"
#include "runner/platform/webhook.h"

namespace steady {
namespace {

using ::testing::HasSubstr;

// Takes one connection, reads what comes until the body is complete, says `answer`.
class OneShotServer {
public:
    explicit OneShotServer(std::string answer) : answer_(std::move(answer)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
        ::listen(listener_, 1);
        socklen_t size = sizeof(address);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/hook?key=s3cret";
        thread_ = std::thread([this] { serve(); });
    }
    ~OneShotServer() { thread_.join(); }
    const std::string& url() const { return url_; }
    std::string request() {
        if (thread_.joinable()) thread_.join();
        thread_ = std::thread([] {});
        return request_;
    }

private:
    void serve() {
        const int connection = ::accept(listener_, nullptr, nullptr);
        char buffer[4096];
        while (request_.find('}') == std::string::npos) {
            const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
            if (n <= 0) break;
            request_.append(buffer, static_cast<std::size_t>(n));
        }
        if (answer_.empty()) {
            ::recv(connection, buffer, sizeof(buffer), 0);  // silent until the client gives up
        } else {
            ::send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
        }
        ::close(connection);
        ::close(listener_);
    }

    std::string answer_, url_, request_;
    int listener_ = -1;
    std::thread thread_;
};

std::string failure(const std::string& answer, double timeout_s) {
    OneShotServer server(answer);
    try {
        send_webhook(parse_webhook(server.url()), R"({"text":"x"})", timeout_s);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Webhook, SendsOneJsonDocument) {
    OneShotServer server("HTTP/1.1 204 No Content\r\n\r\n");
    send_webhook(parse_webhook(server.url()), R"({"text":"slower"})");
    const std::string request = server.request();
    EXPECT_TRUE(request.starts_with("POST /hook?key=s3cret HTTP/1.1\r\n")) << request;
    EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Length: 17\r\n"));
    EXPECT_TRUE(request.ends_with(R"({"text":"slower"})")) << request;
}

// https://spec.matrix.org/latest/client-server-api/#sending-events-to-a-room
TEST(Webhook, AMessageToAMatrixRoomIsPutUnderItsTransaction) {
    OneShotServer server("HTTP/1.1 200 OK\r\n\r\n{\"event_id\":\"$x\"}");
    const std::string room = "/_matrix/client/v3/rooms/!abc%3Aexample.org/send/m.room.message";
    const std::string host = server.url().substr(0, server.url().find("/hook"));
    WebhookAddress address =
        matrix_message(parse_webhook(host + room + "?user_id=%40bot"), "txn-7");
    address.token = "syt_s3cret";
    send_webhook(address, R"({"msgtype":"m.text"})");
    const std::string request = server.request();
    EXPECT_TRUE(request.starts_with("PUT " + room + "/txn-7?user_id=%40bot HTTP/1.1\r\n"))
        << request;
    EXPECT_THAT(request, HasSubstr("Authorization: Bearer syt_s3cret\r\n"));
    EXPECT_TRUE(request.ends_with(R"({"msgtype":"m.text"})")) << request;
    const WebhookAddress bridge = parse_webhook("https://example.org/webhook/abc");
    EXPECT_EQ(matrix_message(bridge, "txn-7").url, bridge.url);
    EXPECT_FALSE(matrix_message(bridge, "txn-7").put);
}

TEST(Webhook, SaysWhatWentWrongWithoutTheSecret) {
    const std::string refused = failure("HTTP/1.1 404 Not Found\r\n\r\n", 10);
    EXPECT_THAT(refused, HasSubstr("404"));
    EXPECT_EQ(refused.find("s3cret"), std::string::npos);
    EXPECT_THAT(failure("garbage\r\n", 10), HasSubstr("webhook at 127.0.0.1"));
    EXPECT_THAT(failure("", 0.2), HasSubstr("no answer within"));
    EXPECT_THAT(failure("HTTP/1.1 200 O", 10), HasSubstr("webhook at 127.0.0.1"));
}

TEST(Webhook, AddressesAreChecked) {
    EXPECT_EQ(parse_webhook("https://chat.example/a/b?c=d").host, "chat.example");
    EXPECT_EQ(parse_webhook("http://[::1]:99").host, "[::1]");
    for (const char* bad :
         {"ftp://x/", "chat.example/a", "https://u:p@chat.example/", "https://chat.example/a b",
          "https://chat.example/a\r\nHost: evil", "https://chat.example/a#b", ""}) {
        EXPECT_THROW(parse_webhook(bad), Error) << bad;
    }
}

}  // namespace
}  // namespace steady
