// Making a bearer token. Only its hash is ever stored, so the text is shown once, when it is made.
#pragma once

#include <string>

namespace steady {

struct NewToken {
    std::string text;    // "steady_" and 64 hex digits: 256 random bits
    std::string sha256;  // lower-case hex of the hash of text, what Store::create_token wants
};

// Throws Error when the system gives no random bytes.
NewToken make_token();

}  // namespace steady
