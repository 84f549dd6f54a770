// SHA-256, in the spelling that the protocol uses everywhere: lower-case hexadecimal.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::engine::wire {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace lockstep::engine::wire
