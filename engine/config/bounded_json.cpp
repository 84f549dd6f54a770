#include "engine/config/bounded_json.h"

#include <nlohmann/json.hpp>

#include "engine/wire/sha256.h"

namespace lockstep::engine {

using nlohmann::json;

json parse_bounded(std::string_view text, int depth) {
    bool too_deep = false;
    const auto keep = [&too_deep, depth](int level, json::parse_event_t, json&) {
        too_deep = too_deep || level > depth;
        return !too_deep;
    };
    json parsed = json::parse(text, keep, false);
    if (too_deep) return json(json::value_t::discarded);
    return parsed;
}

std::string canonical(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string fingerprint_of_text(std::string_view text) {
    const json parsed = parse_bounded(text);
    return parsed.is_discarded() ? std::string{} : fingerprint_of(parsed);
}

std::string fingerprint_of(const json& value) { return wire::sha256_hex(canonical(value)); }

}  // namespace lockstep::engine
