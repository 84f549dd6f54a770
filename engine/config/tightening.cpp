#include "engine/config/tightening.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runtime/invariant.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

/// The names in a list, or in a single text; what is no text is no name.
Names names_in(const Json& value) {
    Names names;
    const auto add = [&names](const Json& element) {
        if (element.is_string()) names.emplace_back(wire::trim(element.get_ref<const std::string&>()));
    };
    if (value.is_array()) {
        for (const Json& element : value) add(element);
    } else {
        add(value);
    }
    return names;
}

void add_once(Names& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

void unite(Json& above, const Json& layer) {
    Names names = names_in(above);
    for (const std::string& name : names_in(layer)) add_once(names, name);
    above = names;
}

/// Topics are matched by patterns, everything else by name, in whatever case.
bool includes(bool topics, const std::string& wide, const std::string& narrow) {
    return topics ? covers(wide, narrow) : wire::ascii_lower(wide) == wire::ascii_lower(narrow);
}

void cut(Json& above, const Json& layer, bool topics) {
    const Names allowed = names_in(above);
    const Names wanted = names_in(layer);
    if (wanted.empty()) return;
    Names both = allowed.empty() ? wanted : Names{};
    for (const std::string& one : allowed) {
        for (const std::string& other : wanted) {
            if (includes(topics, one, other))
                add_once(both, other);
            else if (includes(topics, other, one))
                add_once(both, one);
        }
    }
    if (both.empty()) both.emplace_back(kNothing);
    above = both;
}

void tighten(Json& above, const Json& layer) {
    if (!layer.is_object()) return;
    if (!above.is_object()) above = Json::object();
    for (const auto& [name, value] : layer.items()) {
        if (name.starts_with("denied_") || name.starts_with("deny_")) {
            unite(above[name], value);
        } else if (name.starts_with("allowed_") || name.starts_with("allow_")) {
            cut(above[name], value, name.ends_with("topics"));
        } else if (value.is_object()) {
            tighten(above[name], value);
        }
    }
}

Json taken_out(Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) return {};
    Json value = std::move(*found);
    object.erase(found);
    return value;
}

/// Where policy reads them.
Json& safety_in_force(Json& settings) {
    if (!settings.contains("safety") && settings.contains("data") && settings["data"].is_object() &&
        settings["data"].contains("safety"))
        return settings["data"]["safety"];
    return settings["safety"];
}

}  // namespace

void tighten_safety(Json& settings, Json& layer) {
    PRECONDITION(settings.is_object() && layer.is_object(), "settings are a {}, and the layer is a {}",
                 settings.type_name(), layer.type_name());
    Json own = taken_out(layer, "safety");
    const auto data = layer.find("data");
    Json nested = data != layer.end() && data->is_object() ? taken_out(*data, "safety") : Json();
    for (const Json& safety : {std::move(own), std::move(nested)})
        if (safety.is_object()) tighten(safety_in_force(settings), safety);
    // A `data` that is no object would take what is denied there with it.
    if (data != layer.end() && !data->is_object()) layer.erase(data);
}

bool covers(std::string_view wide, std::string_view narrow) {
    if (wide == narrow) return true;
    // Where the narrow one has a pattern of its own, only a `*` of the wide one can take that in; and a `*` takes no `/`.
    if (wide.find_first_of("?[\\") != std::string_view::npos) return false;
    if (narrow.find_first_of("[\\") != std::string_view::npos) return false;
    std::size_t at = 0;  // in the narrow one
    std::size_t star = std::string_view::npos,
                resume = 0;  // the last `*` of the wide one, and what it has taken so far
    std::size_t i = 0;
    while (at < narrow.size()) {
        if (i < wide.size() && wide[i] == '*') {
            star = i++;
            resume = at;
        } else if (i < wide.size() && wide[i] == narrow[at] && narrow[at] != '?') {
            ++i;
            ++at;
        } else if (star != std::string_view::npos && narrow[resume] != '/') {
            i = star + 1;
            at = ++resume;
        } else {
            return false;
        }
    }
    while (i < wide.size() && wide[i] == '*') ++i;
    return i == wide.size();
}

}  // namespace lockstep::engine
