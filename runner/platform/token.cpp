// Random text from the kernel, and its hash.
#include "runner/platform/token.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "kernels/base/error.h"
#include "runner/base/sha256.h"

namespace steady {

NewToken make_token() {
    std::array<unsigned char, 32> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw Error("the system gave no random bytes for a token; try again", kExitInternal);
    }
    NewToken token;
    token.text = "steady_";
    for (const unsigned char byte : bytes) token.text += fmt::format("{:02x}", byte);
    token.sha256 = sha256_hex(token.text);
    return token;
}

}  // namespace steady
