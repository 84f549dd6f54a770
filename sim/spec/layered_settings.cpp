#include "sim/spec/layered_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/wire/text.h"

namespace lockstep::sim::spec {

using Json = nlohmann::json;

void merge(Json& into, const Json& narrower) {
    for (const auto& [name, value] : narrower.items()) {
        Json& place = into[name];
        if (place.is_object() && value.is_object())
            merge(place, value);
        else
            place = value;
    }
}

namespace {
using NameList = std::vector<std::string>;

bool denies(std::string_view name) { return name.starts_with("denied_") || name.starts_with("deny_"); }
bool allows(std::string_view name) { return name.starts_with("allowed_") || name.starts_with("allow_"); }
bool of_topics(std::string_view name) { return name.ends_with("topics"); }

/// A list of names, or a single one.
NameList names_of(const Json& value) {
    NameList names;
    for (const Json& item : value.is_array() ? value : Json::array({value}))
        if (item.is_string()) names.emplace_back(engine::wire::trim(item.get_ref<const std::string&>()));
    return names;
}

std::string spelt(std::string_view list, const std::string& name) {
    return of_topics(list) ? name : engine::wire::ascii_lower(name);
}

/// In an order of their own, each once; none at all: null.
Json as_set(std::string_view list, const NameList& names) {
    NameList set;
    for (const std::string& name : names) set.push_back(spelt(list, name));
    std::ranges::sort(set);
    const auto repeated = std::ranges::unique(set);
    set.erase(repeated.begin(), repeated.end());
    return set.empty() ? Json() : Json(set);
}

NameList cut(std::string_view list, const NameList& allowed, const NameList& wanted) {
    if (wanted.empty()) return allowed;
    if (allowed.empty()) return wanted;
    const auto within = [list](const std::string& wide, const std::string& narrow) {
        return of_topics(list) ? takes_in(wide, narrow) : spelt(list, wide) == spelt(list, narrow);
    };
    NameList both;
    for (const std::string& one : allowed) {
        for (const std::string& other : wanted) {
            if (within(one, other))
                both.push_back(other);
            else if (within(other, one))
                both.push_back(one);
        }
    }
    if (both.empty()) both.emplace_back("(nothing)");
    return both;
}

void tighten(Json& above, const Json& layer) {
    if (!layer.is_object()) return;
    if (!above.is_object()) above = Json::object();
    for (const auto& [name, value] : layer.items()) {
        const NameList said = names_of(value);
        Json& place = above[name];
        if (denies(name)) {
            NameList all = names_of(place);
            all.insert(all.end(), said.begin(), said.end());
            place = as_set(name, all);
        } else if (allows(name)) {
            place = as_set(name, cut(name, names_of(place), said));
        } else if (value.is_object()) {
            tighten(place, value);
        }
        if (place.is_null()) above.erase(name);
    }
}

/// Where policy looks for what binds it.
Json& safety_of(Json& settings) {
    const bool nested = !settings.contains("safety") && settings.contains("data") && settings["data"].is_object() &&
                        settings["data"].contains("safety");
    return nested ? settings["data"]["safety"] : settings["safety"];
}

void add_tightening_layer(Json& settings, Json layer) {
    std::vector<Json> said;
    if (const auto own = layer.find("safety"); own != layer.end()) {
        said.push_back(*own);
        layer.erase(own);
    }
    if (const auto data = layer.find("data"); data != layer.end()) {
        if (data->is_object()) {
            if (const auto nested = data->find("safety"); nested != data->end()) {
                said.push_back(*nested);
                data->erase(nested);
            }
        } else {
            layer.erase(data);
        }
    }
    for (const Json& safety : said)
        if (safety.is_object()) tighten(safety_of(settings), safety);
    merge(settings, layer);
}

/// Patterns that only whoever matches topics can compare.
bool has_odd_patterns(const Json& node, std::string_view name = {}) {
    if (node.is_object() || node.is_array()) {
        for (const auto& [key, value] : node.items())
            if (has_odd_patterns(value, node.is_object() ? std::string_view(key) : name)) return true;
        return false;
    }
    const bool pattern = allows(name) && of_topics(name) && node.is_string();
    return pattern && node.get_ref<const std::string&>().find_first_of("?[\\") != std::string::npos;
}

void normalise(Json& node) {
    if (!node.is_object()) return;
    for (auto member = node.begin(); member != node.end();) {
        if (denies(member.key()) || allows(member.key()))
            *member = as_set(member.key(), names_of(*member));
        else
            normalise(*member);
        const bool says_nothing = member->is_null() || (member->is_object() && member->empty());
        member = says_nothing ? node.erase(member) : std::next(member);
    }
}

bool matches(std::string_view wide, std::string_view narrow) {
    if (wide.empty()) return narrow.empty();
    if (wide.front() != '*')
        return !narrow.empty() && wide.front() == narrow.front() && matches(wide.substr(1), narrow.substr(1));
    for (std::size_t taken = 0; taken <= narrow.size(); ++taken) {
        if (matches(wide.substr(1), narrow.substr(taken))) return true;
        if (taken < narrow.size() && narrow[taken] == '/') return false;
    }
    return false;
}

}  // namespace

std::optional<Json> layered(const Layers& layers, std::size_t bound) {
    Json settings = Json::object();
    const bool tightens = layers.size() > bound;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (tightens && has_odd_patterns(*layers[i])) return std::nullopt;
        if (i < bound)
            merge(settings, *layers[i]);
        else
            add_tightening_layer(settings, *layers[i]);
    }
    return settings;
}

bool same_settings(Json one, Json other) {
    normalise(one);
    normalise(other);
    return one == other;
}

bool takes_in(std::string_view wide, std::string_view narrow) {
    // What a `*` of the narrow one stands for, only a `*` of the wide one takes in.
    return matches(wide, narrow);
}

}  // namespace lockstep::sim::spec
