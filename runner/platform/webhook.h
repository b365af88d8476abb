// Sends one POST of a JSON text to a configured address, by libcurl. The certificate is checked,
// redirections are not followed, and the address, whose path is often a secret, appears in no
// message.
#pragma once

#include <string>

namespace steady {

struct WebhookAddress {
    std::string url;
    std::string host;  // what messages may show
};

// http:// or https://, no user, no fragment. Throws Error saying what is allowed.
WebhookAddress parse_webhook(const std::string& url);

// Sends and waits for the answer's status, timeout_s in all. Throws Error when it is not 2xx or
// does not come: "webhook at <host>: …".
void post_webhook(const WebhookAddress& address, const std::string& json, double timeout_s = 10);

}  // namespace steady
