#include "engine/config/fingerprint.h"

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {

std::string fingerprint_of_text(std::string_view text) {
    const nlohmann::json parsed = wire::parse_bounded(text);
    return parsed.is_discarded() ? std::string{} : fingerprint_of(parsed);
}

std::string fingerprint_of(const nlohmann::json& value) { return wire::sha256_hex(wire::json_text(value)); }

}  // namespace lockstep::engine
