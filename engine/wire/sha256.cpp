#include "engine/wire/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "engine/runtime/invariant.h"

namespace lockstep::engine::wire {

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
    INVARIANT(ok == 1 && size == 32, "OpenSSL computed no SHA-256: result {}, {} bytes", ok, size);

    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * size);
    for (unsigned int i = 0; i < size; ++i) {
        hex += kDigits[digest[i] >> 4];
        hex += kDigits[digest[i] & 15];
    }
    return hex;
}

}  // namespace lockstep::engine::wire
