// Sends a JSON text to a configured address, by libcurl. The certificate is checked, redirections
// are not followed, and neither the address, whose path is often a secret, nor the token appears in
// a message.
#pragma once

#include <string>

namespace steady {

struct WebhookAddress {
    std::string url;
    std::string host;     // what messages may show
    std::string token{};  // sent as "Authorization: Bearer …"; empty: no such header
    bool put = false;     // PUT instead of POST: the address names this very message
};

// http:// or https://, no user, no fragment. Throws Error saying what is allowed.
WebhookAddress parse_webhook(const std::string& url);

// Sends and waits for the answer's status, timeout_s in all. Throws Error when it is not 2xx or
// does not come: "webhook at <host>: …".
void send_webhook(const WebhookAddress& address, const std::string& json, double timeout_s = 10);

// The address of one message in the room of a Matrix homeserver, for addresses that end in
// /send/m.room.message; any other is returned as it is. The server takes a message once, however
// often it is sent: https://spec.matrix.org/latest/client-server-api/#sending-events-to-a-room
WebhookAddress matrix_message(WebhookAddress address, const std::string& transaction);

}  // namespace steady
