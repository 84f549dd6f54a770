#include "engine/wire/json_text.h"

#include <nlohmann/json.hpp>

namespace lockstep::engine::wire {

using nlohmann::json;
using nlohmann::ordered_json;

json read_json(std::string_view text) { return json::parse(text, nullptr, false); }
ordered_json read_ordered_json(std::string_view text, Comments comments) {
    return ordered_json::parse(text, nullptr, false, comments == Comments::skipped);
}

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

json sound_json(std::string_view text, Comments comments) {
    return json::parse(text, nullptr, true, comments == Comments::skipped);
}
ordered_json sound_ordered_json(std::string_view text) { return ordered_json::parse(text); }

std::string json_text(const json& value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}
std::string json_text(const ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}
std::string ascii_json_text(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

}  // namespace lockstep::engine::wire
