// SHA-256 through OpenSSL.
#include "runner/base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "kernels/base/error.h"

namespace steady {

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
        throw Error{"SHA-256 failed in the crypto library", kExitInternal};
    }
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += fmt::format("{:02x}", digest[i]);
    }
    return out;
}

}  // namespace steady
