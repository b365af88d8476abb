// One POST of a JSON text to an address that somebody gave: alerts. No shell, no other program; the
// certificate is checked, every step has the same deadline, and the address, whose path is often a
// secret, appears in no message.
#pragma once

#include <string>

namespace steady {

struct WebhookAddress {
    bool tls = true;
    std::string host, port, target;  // target begins with "/"
};

// http:// or https://, no user, no fragment. Throws Error saying what is allowed.
WebhookAddress parse_webhook(const std::string& url);

// Sends and waits for the answer's status at most timeout_s. Throws Error when it is not 2xx or
// does not come: "webhook at <host>: …".
void post_webhook(const WebhookAddress& address, const std::string& json, double timeout_s = 10);

}  // namespace steady
