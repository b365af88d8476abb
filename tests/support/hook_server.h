// An HTTP server on loopback for tests of webhooks: keeps each request's body, answers with the
// given statuses in order, then with 200.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace steady {

class HookServer {
public:
    explicit HookServer(std::vector<int> statuses = {}) : statuses_(std::move(statuses)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
        ::listen(listener_, 8);
        socklen_t size = sizeof(address);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/hook?key=s3cret";
        thread_ = std::thread([this] { serve(); });
    }
    ~HookServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    HookServer(const HookServer&) = delete;
    HookServer& operator=(const HookServer&) = delete;

    const std::string& url() const { return url_; }
    std::vector<std::string> bodies() {
        const std::lock_guard lock(mutex_);
        return bodies_;
    }

private:
    void serve() {
        for (std::size_t i = 0;; ++i) {
            const int connection = ::accept(listener_, nullptr, nullptr);
            if (connection < 0) return;
            const std::string body = body_of(connection);
            const int status = i < statuses_.size() ? statuses_[i] : 200;
            {
                const std::lock_guard lock(mutex_);
                bodies_.push_back(body);
            }
            const std::string answer = "HTTP/1.1 " + std::to_string(status) +
                                       " X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
            ::close(connection);
        }
    }

    static std::string body_of(int connection) {
        std::string request;
        char buffer[4096];
        for (;;) {
            const std::size_t head = request.find("\r\n\r\n"),
                              at = request.find("Content-Length: ");
            if (head != std::string::npos && at < head) {
                const std::size_t length = std::stoul(request.substr(at + 16));
                if (request.size() >= head + 4 + length) return request.substr(head + 4, length);
            }
            const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
            if (n <= 0) return request;
            request.append(buffer, static_cast<std::size_t>(n));
        }
    }

    std::vector<int> statuses_;
    std::string url_;
    int listener_ = -1;
    std::mutex mutex_;
    std::vector<std::string> bodies_;
    std::thread thread_;
};

}  // namespace steady
