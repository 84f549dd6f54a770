// NKeys: NATS users that prove themselves by an Ed25519 signature. The client library signs with a seed but cannot tell
// which public key belongs to it, and the server wants to hear that first.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// The public key (`U…`) of a user seed (`SU…`). The error never contains the seed.
[[nodiscard]] tl::expected<std::string, std::string> public_nkey(std::string_view seed);

}  // namespace lockstep::prod
