#include "prod/nats/nkey.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lockstep::prod {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::uint8_t kPrefixSeed = 18 << 3;  // 'S'
constexpr std::uint8_t kPrefixUser = 20 << 3;  // 'U'
constexpr std::size_t kKeyBytes = 32;

std::optional<Bytes> base32_decode(std::string_view text) {
    Bytes out;
    std::uint32_t buffer = 0;
    int bits = 0;
    for (const char c : text) {
        const auto digit = kAlphabet.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        buffer = (buffer << 5) | static_cast<std::uint32_t>(digit);
        bits += 5;
        if (bits >= 8) {
            bits -= 8;
            out.push_back(static_cast<std::uint8_t>(buffer >> bits));
        }
    }
    return out;
}

std::string base32_encode(const Bytes& bytes) {
    std::string out;
    std::uint32_t buffer = 0;
    int bits = 0;
    for (const std::uint8_t byte : bytes) {
        buffer = (buffer << 8) | byte;
        bits += 8;
        while (bits >= 5) {
            bits -= 5;
            out += kAlphabet[(buffer >> bits) & 31];
        }
    }
    if (bits > 0) out += kAlphabet[(buffer << (5 - bits)) & 31];
    return out;
}

/// CRC-16/XMODEM, which guards every encoded key.
std::uint16_t crc16(const Bytes& bytes, std::size_t length) {
    std::uint16_t crc = 0;
    for (std::size_t i = 0; i < length; ++i) {
        crc = static_cast<std::uint16_t>(crc ^ (bytes[i] << 8));
        for (int bit = 0; bit < 8; ++bit)
            crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
    return crc;
}

}  // namespace

tl::expected<std::string, std::string> public_nkey(std::string_view seed) {
    const auto refuse = [](const char* why) { return tl::make_unexpected(std::string(why)); };
    const auto raw = base32_decode(seed);
    if (!raw || raw->size() != 2 + kKeyBytes + 2)
        return refuse("not an NKey seed (expected 58 characters starting with SU)");
    const std::uint16_t sum = static_cast<std::uint16_t>((*raw)[34] | ((*raw)[35] << 8));
    if (crc16(*raw, 34) != sum) return refuse("the NKey seed's checksum is wrong: mistyped or cut off?");
    const auto kind = static_cast<std::uint8_t>((((*raw)[0] & 7) << 5) | (((*raw)[1] & 0xf8) >> 3));
    if (((*raw)[0] & 0xf8) != kPrefixSeed || kind != kPrefixUser) return refuse("not the seed of a user NKey (SU…)");

    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw->data() + 2, kKeyBytes), &EVP_PKEY_free);
    Bytes encoded(1 + kKeyBytes + 2);
    encoded[0] = kPrefixUser;
    std::size_t length = kKeyBytes;
    if (!key || EVP_PKEY_get_raw_public_key(key.get(), encoded.data() + 1, &length) != 1)
        return refuse("the NKey seed is no Ed25519 key");
    const std::uint16_t crc = crc16(encoded, 1 + kKeyBytes);
    encoded[33] = static_cast<std::uint8_t>(crc & 0xff);
    encoded[34] = static_cast<std::uint8_t>(crc >> 8);
    return base32_encode(encoded);
}

}  // namespace lockstep::prod
