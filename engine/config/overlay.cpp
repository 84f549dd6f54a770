#include "engine/config/overlay.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/config/fingerprint.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace {

using nlohmann::json;

const json* member(const json& object, const std::string& name) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

void read_pools(const json& data, Overlay& overlay) {
    const json* pools = member(data, "pools");
    if (pools == nullptr) return;
    auto table = parse_pools(wire::json_text(*pools));
    if (!table) {
        overlay.mistakes.push_back(fmt::format("pools{}: {}", table.error().pointer, table.error().message));
        return;
    }
    overlay.pools = std::move(*table);
    overlay.pools_fingerprint = fingerprint_of(*pools);
}

void read_timeouts(const json& data, Overlay& overlay) {
    const json* document = member(data, "timeouts");
    if (document == nullptr) return;
    auto timeouts = parse_timeouts(wire::json_text(*document));
    if (!timeouts) {
        for (const DocumentError& error : timeouts.error())
            overlay.mistakes.push_back(fmt::format("timeouts{}: {}", error.pointer, error.message));
        return;
    }
    overlay.timeouts = std::move(*timeouts);
    overlay.timeouts_fingerprint = fingerprint_of(*document);
}

/// `scheduler: {input_fail_mode: ...}`, or the dotted name that some writers put flat.
const json* scheduler_setting(const json& data, const std::string& name) {
    if (const json* scheduler = member(data, "scheduler")) {
        if (const json* value = member(*scheduler, name)) return value;
    }
    return member(data, "scheduler." + name);
}

void read_modes(const json& data, Overlay& overlay) {
    if (const json* mode = scheduler_setting(data, "input_fail_mode")) {
        overlay.input_fail_mode = mode->is_string() ? mode->get<std::string>() : std::string{};
        if (overlay.input_fail_mode != "open" && overlay.input_fail_mode != "closed")
            overlay.mistakes.emplace_back(
                R"(scheduler.input_fail_mode: expected "open" or "closed"; it counts as closed)");
    }
    if (const json* mode = scheduler_setting(data, "output_fail_mode")) {
        overlay.output_fail_mode_given = true;
        if (*mode == "open" || *mode == "closed")
            overlay.output_fail_mode = mode->get<std::string>();
        else
            overlay.mistakes.emplace_back(R"(scheduler.output_fail_mode: expected "open" or "closed")");
    }
    if (const json* enabled = scheduler_setting(data, "output_policy_enabled")) {
        if (enabled->is_boolean())
            overlay.output_policy_enabled = enabled->get<bool>();
        else
            overlay.mistakes.emplace_back("scheduler.output_policy_enabled: expected true or false");
    }
}

}  // namespace

tl::expected<Overlay, std::string> read_overlay(std::string_view text) {
    const json document = wire::parse_bounded(text);
    if (!document.is_object()) return tl::make_unexpected("expected a JSON object");
    const json* data = member(document, "data");
    if (data != nullptr && !data->is_object()) return tl::make_unexpected("data: expected an object");
    Overlay overlay;
    const json* revision = member(document, "revision");
    if (revision != nullptr && revision->is_number_integer()) overlay.revision = revision->get<std::int64_t>();
    if (data == nullptr) return overlay;
    read_pools(*data, overlay);
    read_timeouts(*data, overlay);
    read_modes(*data, overlay);
    return overlay;
}

}  // namespace lockstep::engine
