#include "sim/scenario/override.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/wire/json_text.h"
#include "sim/scenario/check.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

std::string unescaped(std::string_view step) {
    std::string out;
    for (std::size_t i = 0; i < step.size(); ++i) {
        const bool escape = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
        out += !escape ? step[i] : step[++i] == '0' ? '~' : '/';
    }
    return out;
}

std::vector<std::string> steps_of(std::string_view path) {
    const bool pointer = path.starts_with('/');
    if (pointer) path.remove_prefix(1);
    const char separator = pointer ? '/' : '.';
    std::vector<std::string> steps;
    while (true) {
        const auto end = path.find(separator);
        steps.push_back(pointer ? unescaped(path.substr(0, end)) : std::string(path.substr(0, end)));
        if (end == std::string_view::npos) return steps;
        path.remove_prefix(end + 1);
    }
}

tl::expected<json*, std::string> element(json& list, const std::string& step, const std::string& at) {
    std::size_t index{};
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (error != std::errc{} || end != step.data() + step.size() || index >= list.size())
        return tl::make_unexpected(
            fmt::format("{} has {} elements; expected a number below that, got \"{}\"", at, list.size(), step));
    return &list[index];
}

}  // namespace

tl::expected<std::string, std::string> apply_override(json& document, std::string_view assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0)
        return tl::make_unexpected(
            fmt::format("expected PATH=VALUE such as cluster.config.backoff_max=60s, got \"{}\"", assignment));
    const std::string_view text = assignment.substr(equals + 1);
    json value = engine::wire::read_json(text);
    if (value.is_discarded()) value = std::string(text);

    json* target = &document;
    std::string pointer;
    for (const std::string& step : steps_of(assignment.substr(0, equals))) {
        if (step.empty()) return tl::make_unexpected(fmt::format("the path of \"{}\" has an empty step", assignment));
        if (target->is_array()) {
            auto found = element(*target, step, pointer);
            if (!found) return tl::make_unexpected(found.error());
            target = *found;
        } else if (target->is_object() || target->is_null()) {
            target = &(*target)[step];
        } else {
            return tl::make_unexpected(fmt::format("{} is no object; \"{}\" cannot be set in it", pointer, step));
        }
        pointer = child(pointer, step);
    }
    *target = std::move(value);
    return pointer;
}

}  // namespace lockstep::sim
