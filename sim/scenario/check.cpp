#include "sim/scenario/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/config/nearest.h"
#include "engine/wire/json_text.h"
#include "sim/scenario/values.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;
using Kind = Shape::Kind;

bool is_zero(const json& value) { return value.is_number() && value.get<double>() == 0; }

bool has_type(const Shape& shape, const json& value) {
    switch (shape.kind) {
        case Kind::text:
        case Kind::word:
        case Kind::rate: return value.is_string();
        case Kind::duration:
        case Kind::signed_duration: return value.is_string() || is_zero(value);
        case Kind::flag: return value.is_boolean();
        case Kind::integer: return value.is_number_integer();
        case Kind::number: return value.is_number();
        case Kind::comparison: return value.is_number() || value.is_string();
        case Kind::list: return value.is_array();
        case Kind::map:
        case Kind::object:
        case Kind::tagged:
        case Kind::document: return value.is_object();
        case Kind::either:
            return std::ranges::any_of(shape.alternatives, [&](const Shape& one) { return has_type(one, value); });
    }
    return false;
}

bool is_duration(const Shape& shape, const json& value) {
    if (!value.is_string()) return shape.least == Duration{};
    const auto duration = engine::parse_duration(value.get_ref<const std::string&>());
    return duration && *duration >= shape.least;
}

/// Where a key of this name may stand below `at`; empty: nowhere.
std::string place_of(const std::string& key, const Shape& shape, const std::string& at) {
    for (const Field& field : shape.fields) {
        if (field.key == key) return at.empty() ? "the top of the file" : at;
        if (std::string place = place_of(key, field.shape, child(at, field.key)); !place.empty()) return place;
    }
    for (const Shape& one : shape.alternatives)
        if (std::string place = place_of(key, one, at); !place.empty()) return place;
    return shape.item == nullptr ? std::string{} : place_of(key, *shape.item, child(at, "…"));
}

/// Tables that are too long for a message.
bool is_listed(const std::string& noun) {
    for (const char* one : {"invariant", "mechanism", "fault", "event"})
        if (noun == one) return true;
    return false;
}

class Checker {
public:
    Checker(const Shape& root, std::vector<Finding>& findings) : root_(root), findings_(findings) {}

    void value(const Shape& shape, const json& value, const std::string& at) {
        if (!has_type(shape, value)) return mismatch(shape, value, at);
        switch (shape.kind) {
            case Kind::text:
                if (shape.min > 0 && value.get_ref<const std::string&>().empty()) mismatch(shape, value, at);
                break;
            case Kind::word: word(shape, value.get_ref<const std::string&>(), at); break;
            case Kind::integer:
            case Kind::number:
                if (value.get<double>() < shape.min || value.get<double>() > shape.max) mismatch(shape, value, at);
                break;
            case Kind::duration:
                if (!is_duration(shape, value)) mismatch(shape, value, at);
                break;
            case Kind::signed_duration:
                if (value.is_string() && !parse_signed_duration(value.get_ref<const std::string&>()))
                    mismatch(shape, value, at);
                break;
            case Kind::rate:
                if (!parse_rate(value.get_ref<const std::string&>())) mismatch(shape, value, at);
                break;
            case Kind::comparison:
                if (value.is_string() && !parse_comparison(value.get_ref<const std::string&>()))
                    mismatch(shape, value, at);
                break;
            case Kind::list: list(shape, value, at); break;
            case Kind::map: map(shape, value, at); break;
            case Kind::object: object(shape, value, at, {}); break;
            case Kind::tagged: tagged(shape, value, at); break;
            case Kind::either: either(shape, value, at); break;
            case Kind::flag:
            case Kind::document: break;
        }
    }

private:
    void add(const std::string& at, std::string message) { findings_.push_back({at, std::move(message), false}); }

    void mismatch(const Shape& shape, const json& value, const std::string& at) {
        add(at, fmt::format("expected {}, got {}", describe(shape), shown(value)));
    }

    /// Whether `name` is among the words of the shape; if not, that has been reported.
    bool word(const Shape& shape, const std::string& name, const std::string& at) {
        if (std::ranges::find(shape.unavailable, name) != shape.unavailable.end()) {
            add(at, fmt::format("the {} \"{}\" does not exist in this version",
                                shape.noun.empty() ? "value" : shape.noun, name));
            return false;
        }
        if (std::ranges::find(shape.words, name) != shape.words.end()) return true;
        if (shape.noun.empty())
            add(at, fmt::format("expected {}, got \"{}\"{}", describe(shape), name, near_only(name, shape.words)));
        else
            add(at, fmt::format("there is no {} \"{}\"{}", shape.noun, name, what_there_is(shape, name)));
        return false;
    }

    static std::string what_there_is(const Shape& shape, const std::string& name) {
        const std::string near = engine::suggestion(name, shape.words);
        return near.empty() && is_listed(shape.noun) ? fmt::format("; lockstep list {}s names them", shape.noun) : near;
    }

    static std::string near_only(const std::string& name, const std::vector<std::string>& words) {
        const auto near = engine::nearest(name, words);
        return near.empty() ? std::string{} : fmt::format("; did you mean \"{}\"?", near);
    }

    void list(const Shape& shape, const json& value, const std::string& at) {
        if (static_cast<double>(value.size()) < shape.min) return mismatch(shape, value, at);
        for (std::size_t i = 0; i < value.size(); ++i) this->value(*shape.item, value[i], child(at, i));
    }

    void map(const Shape& shape, const json& value, const std::string& at) {
        for (const auto& [key, item] : value.items()) {
            const std::string here = child(at, key);
            if (key.empty()) {
                add(here, "expected a name that is not empty");
            } else if (shape.words.empty() || word(shape, key, here)) {
                this->value(*shape.item, item, here);
            }
        }
    }

    void object(const Shape& shape, const json& value, const std::string& at, const std::string& tag) {
        for (const auto& [key, item] : value.items()) {
            if (!tag.empty() && key == tag) continue;
            const auto field = std::ranges::find(shape.fields, key, &Field::key);
            if (field != shape.fields.end()) {
                this->value(field->shape, item, child(at, key));
                continue;
            }
            std::vector<std::string> known;
            for (const Field& one : shape.fields) known.push_back(one.key);
            const auto near = engine::nearest(key, known);
            const std::string place = near.empty() ? place_of(key, root_, "") : "";
            add(child(at, key),
                fmt::format("there is no key \"{}\" here{}", key,
                            place.empty() ? engine::suggestion(key, known) : fmt::format("; it belongs to {}", place)));
        }
        for (const Field& field : shape.fields) {
            if (field.required && !value.contains(field.key))
                findings_.push_back(
                    {at, fmt::format("expected a key \"{}\": {}", field.key, describe(field.shape)), true});
        }
    }

    void tagged(const Shape& shape, const json& value, const std::string& at) {
        const auto tag = value.find(shape.tag);
        if (tag == value.end() || !tag->is_string())
            return add(tag == value.end() ? at : child(at, shape.tag),
                       fmt::format("expected a key \"{}\" that names a {}", shape.tag, shape.noun));
        const auto& name = tag->get_ref<const std::string&>();
        if (!word(shape, name, child(at, shape.tag))) return;
        const auto index = std::ranges::find(shape.words, name) - shape.words.begin();
        object(shape.alternatives[static_cast<std::size_t>(index)], value, at, shape.tag);
        if (name == "uniform") ordered(value, at);
    }

    /// The one rule between two values that a shape cannot state: a uniform distribution has its least first.
    void ordered(const json& value, const std::string& at) {
        const auto bound = [&](const char* key) -> std::optional<Duration> {
            const auto found = value.find(key);
            if (found == value.end()) return {};
            return found->is_string() ? parse_signed_duration(found->get_ref<const std::string&>()) : Duration{0};
        };
        const auto min = bound("min");
        const auto max = bound("max");
        if (min && max && *min > *max)
            add(child(at, "max"), fmt::format("expected at least \"min\", {}", shown(value["min"])));
    }

    void either(const Shape& shape, const json& value, const std::string& at) {
        for (const Shape& one : shape.alternatives) {
            if (!has_type(one, value)) continue;
            // A word has no way to say what else would be allowed.
            if (one.kind == Kind::word &&
                std::ranges::find(one.words, value.get_ref<const std::string&>()) == one.words.end() &&
                one.noun.empty())
                return mismatch(shape, value, at);
            return this->value(one, value, at);
        }
    }

    const Shape& root_;
    std::vector<Finding>& findings_;
};

}  // namespace

void check(const Shape& shape, const json& value, const std::string& pointer, std::vector<Finding>& findings) {
    Checker(shape, findings).value(shape, value, pointer);
}

std::string child(const std::string& pointer, std::string_view key) {
    return pointer + (json::json_pointer() / std::string(key)).to_string();
}

std::string child(const std::string& pointer, std::size_t index) { return fmt::format("{}/{}", pointer, index); }

std::string shown(const json& value) {
    constexpr std::size_t kShown = 60;
    std::string text = engine::wire::ascii_json_text(value);
    if (text.size() > kShown) text = text.substr(0, kShown) + "…";
    return text;
}

}  // namespace lockstep::sim
