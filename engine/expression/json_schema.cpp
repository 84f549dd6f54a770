#include "engine/expression/json_schema.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "engine/expression/json_schema_loader.h"
#include "engine/expression/json_schema_program.h"
#include "engine/expression/utf8.h"
#include "engine/expression/value_order.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace schema {

namespace {

using Json = nlohmann::json;

/// Calls of `fits` within each other. A value may be as deep as its limit, and each part of it be held against a schema
/// within a schema.
constexpr std::size_t kNestedMax = 400;

std::string_view type_name(Type type) {
    switch (type) {
        case Type::null: return "null";
        case Type::boolean: return "boolean";
        case Type::integer: return "integer";
        case Type::number: return "number";
        case Type::string: return "string";
        case Type::array: return "array";
        case Type::object: break;
    }
    return "object";
}

Type type_of(const Json& value) {
    if (value.is_null()) return Type::null;
    if (value.is_boolean()) return Type::boolean;
    if (value.is_string()) return Type::string;
    if (value.is_array()) return Type::array;
    if (value.is_object()) return Type::object;
    // Whole is also what is too great to have anything behind the point.
    const bool whole = !value.is_number_float() || std::trunc(value.get<double>()) == value.get<double>();
    return whole ? Type::integer : Type::number;
}

/// A value as it can stand in a sentence.
std::string brief(const Json& value) {
    constexpr std::size_t kBriefMax = 80;
    const std::string text = wire::json_text(value);
    if (text.size() <= kBriefMax) return text;
    return std::string(beginning_of(text, kBriefMax)) + "…";
}

bool is_multiple(const Json& value, const Json& of) {
    const WideNumber a = wide_number(value);
    const WideNumber b = wide_number(of);
    if (a.whole && b.whole) return a.integer % b.integer == 0;
    const double real = value.get<double>();
    const double divisor = of.get<double>();
    if (b.whole) return std::fmod(real, divisor) == 0;
    const double quotient = real / divisor;
    return std::isfinite(quotient) ? std::trunc(quotient) == quotient : std::fmod(real, divisor) == 0;
}

class Validator {
public:
    explicit Validator(const Program& program) : program_(program), steps_(program.limits.steps) {}

    std::vector<SchemaViolation> violations(const Json& value) {
        if (deeper_than(value, program_.limits.depth))
            give_up(fmt::format("the value is nested deeper than {}", program_.limits.depth));
        else
            (void)fits(0, value);
        if (!given_up_.empty()) return {{"", "", "", given_up_}};
        return std::move(found_);
    }

private:
    // All of these return whether the value fits. Nothing is told of what is tried only, and that ends with its first
    // violation.

    bool fits(NodeId id, const Json& value) {
        if (!spend(1)) return false;
        if (nested_ == kNestedMax)
            return give_up(
                fmt::format("more than {} schemas apply to a part of the value within each other", kNestedMax));
        const Node& node = program_.nodes[id];
        if (node.fits_nothing) return tell(node, "", [] { return "no value is allowed here"; });
        ++nested_;
        bool good = true;
        if (node.reference) {
            good = fits(*node.reference, value);
        } else {
            good = is_among(node, value);
            if (good || goes_on()) good = is_of_its_kind(node, value) && good;
            if (good || goes_on()) good = fits_combinations(node, value) && good;
        }
        --nested_;
        return good;
    }

    bool goes_on() const { return trying_ == 0 && given_up_.empty() && found_.size() < program_.limits.violations; }

    bool is_among(const Node& node, const Json& value) {
        bool good = true;
        if (node.types) {
            const Type type = type_of(value);
            const bool known = std::ranges::any_of(*node.types, [type](Type allowed) {
                return allowed == type || (allowed == Type::number && type == Type::integer);
            });
            if (!known) {
                std::vector<std::string_view> names;
                for (const Type allowed : *node.types) names.push_back(type_name(allowed));
                good = tell(node, "type", [&] {
                    return fmt::format("expected {}, found {}", fmt::join(names, " or "), type_name(type));
                });
            }
        }
        if (node.values && !is_one_of(*node.values, value))
            good = tell(node, "enum",
                        [&] { return fmt::format("expected one of {}, found {}", brief(*node.values), brief(value)); });
        if (node.constant && !equal(*node.constant, value))
            good = tell(node, "const",
                        [&] { return fmt::format("expected {}, found {}", brief(*node.constant), brief(value)); });
        return good;
    }

    bool is_one_of(const std::vector<Json>& values, const Json& value) {
        return std::ranges::any_of(values, [this, &value](const Json& one) { return equal(one, value); });
    }

    bool equal(const Json& left, const Json& right) { return spend_on(left) && order_of_values(left, right) == 0; }

    bool is_of_its_kind(const Node& node, const Json& value) {
        if (value.is_number()) return number_fits(node, value);
        if (value.is_string()) return text_fits(node, value.get_ref<const std::string&>());
        if (value.is_array()) return list_fits(node, value);
        if (value.is_object()) return map_fits(node, value.get_ref<const Json::object_t&>());
        return true;
    }

    bool number_fits(const Node& node, const Json& value) {
        bool good = true;
        const auto bound = [&](const std::optional<Json>& limit, std::string_view keyword, std::string_view text,
                               auto allowed) {
            if (limit && !allowed(order_of_values(value, *limit)))
                good = tell(node, keyword, [&] {
                    return fmt::format("expected {} {}, found {}", text, wire::json_text(*limit),
                                       wire::json_text(value));
                });
        };
        bound(node.minimum, "minimum", "at least", [](int order) { return order >= 0; });
        bound(node.maximum, "maximum", "at most", [](int order) { return order <= 0; });
        bound(node.exclusive_minimum, "exclusiveMinimum", "more than", [](int order) { return order > 0; });
        bound(node.exclusive_maximum, "exclusiveMaximum", "less than", [](int order) { return order < 0; });
        if (node.multiple_of && !is_multiple(value, *node.multiple_of))
            good = tell(node, "multipleOf", [&] {
                return fmt::format("expected a multiple of {}, found {}", wire::json_text(*node.multiple_of),
                                   wire::json_text(value));
            });
        return good;
    }

    bool size_fits(const Node& node, std::size_t size, std::pair<std::string_view, std::optional<std::size_t>> least,
                   std::pair<std::string_view, std::optional<std::size_t>> most, std::string_view of) {
        bool good = true;
        if (least.second && size < *least.second)
            good = tell(node, least.first,
                        [&] { return fmt::format("expected at least {} {}, found {}", *least.second, of, size); });
        if (most.second && size > *most.second)
            good = tell(node, most.first,
                        [&] { return fmt::format("expected at most {} {}, found {}", *most.second, of, size); });
        return good;
    }

    bool text_fits(const Node& node, const std::string& text) {
        bool good = true;
        if (node.min_length || node.max_length) {
            if (!spend(text.size() / 64)) return false;
            good = size_fits(node, characters_of(text), {"minLength", node.min_length}, {"maxLength", node.max_length},
                             "characters");
        }
        if (node.pattern && !matches(*node.pattern, text))
            good = tell(node, "pattern", [&] {
                return fmt::format("expected a text that matches {}, found {}", brief(node.pattern->pattern()),
                                   brief(text));
            });
        return good;
    }

    bool matches(const re2::RE2& pattern, const std::string& text) {
        return spend(text.size() / 8) && re2::RE2::PartialMatch(text, pattern);
    }

    bool list_fits(const Node& node, const Json& list) {
        bool good =
            size_fits(node, list.size(), {"minItems", node.min_items}, {"maxItems", node.max_items}, "elements");
        for (std::size_t i = 0; i < list.size() && (good || goes_on()); ++i) {
            const bool placed = node.tuple && i < node.tuple->size();
            const auto schema = placed       ? std::optional((*node.tuple)[i])
                                : node.tuple ? node.additional_items
                                             : node.items;
            if (!schema) continue;
            if (node.tuple && !placed && program_.nodes[*schema].fits_nothing)
                return tell(node, "additionalItems", [&] {
                    return fmt::format("expected at most {} elements, found {}", node.tuple->size(), list.size());
                });
            good = part_fits(*schema, list[i], i) && good;
        }
        if (node.unique_items && (good || goes_on())) good = are_unique(node, list) && good;
        return good;
    }

    bool are_unique(const Node& node, const Json& list) {
        std::vector<std::pair<const Json*, std::size_t>> sorted;
        std::size_t doublings = 1;
        while ((list.size() >> doublings) > 0) ++doublings;
        for (std::size_t i = 0; i < list.size(); ++i) {
            // Each is compared about as often as the number of elements can be halved.
            for (std::size_t k = 0; k < doublings; ++k)
                if (!spend_on(list[i])) return false;
            sorted.emplace_back(&list[i], i);
        }
        std::ranges::sort(sorted, [](const auto& a, const auto& b) {
            const int order = order_of_values(*a.first, *b.first);
            return order != 0 ? order < 0 : a.second < b.second;
        });
        const auto twice = std::ranges::adjacent_find(
            sorted, [](const auto& a, const auto& b) { return order_of_values(*a.first, *b.first) == 0; });
        if (twice == sorted.end()) return true;
        return tell(node, "uniqueItems", [&] {
            return fmt::format("elements {} and {} are the same", twice->second, std::next(twice)->second);
        });
    }

    bool map_fits(const Node& node, const Json::object_t& map) {
        bool good = size_fits(node, map.size(), {"minProperties", node.min_properties},
                              {"maxProperties", node.max_properties}, "members");
        for (const std::string& name : node.required)
            if (map.find(name) == map.end())
                good = tell(node, "required", [&] { return fmt::format("there is no member {}", brief(name)); });
        if (node.properties.empty() && node.pattern_properties.empty() && !node.additional_properties) return good;
        for (const auto& [name, value] : map) {
            if (!good && !goes_on()) return false;
            good = member_fits(node, name, value) && good;
        }
        return good;
    }

    bool member_fits(const Node& node, const std::string& name, const Json& value) {
        bool good = spend(1);
        bool additional = true;
        if (const auto known = node.properties.find(name); known != node.properties.end()) {
            additional = false;
            good = part_fits(known->second, value, name) && good;
        }
        for (const auto& [pattern, schema] : node.pattern_properties) {
            if (!matches(*pattern, name)) continue;
            additional = false;
            good = part_fits(schema, value, name) && good;
        }
        if (!additional || !node.additional_properties) return good;
        if (program_.nodes[*node.additional_properties].fits_nothing)
            return tell(node, "additionalProperties",
                        [&] { return fmt::format("there may be no member {}", brief(name)); });
        return part_fits(*node.additional_properties, value, name) && good;
    }

    template <class Token>
    bool part_fits(NodeId id, const Json& part, const Token& token) {
        path_.emplace_back(token);
        const bool good = fits(id, part);
        path_.pop_back();
        return good;
    }

    bool fits_combinations(const Node& node, const Json& value) {
        bool good = true;
        for (const NodeId one : node.all_of)
            if (good || goes_on()) good = fits(one, value) && good;
        if (!node.any_of.empty() &&
            std::ranges::none_of(node.any_of, [&](NodeId one) { return would_fit(one, value); }))
            good = tell(node, "anyOf", [&] {
                return fmt::format("none of the {} schemas fits {}", node.any_of.size(), brief(value));
            });
        if (!node.one_of.empty()) {
            const auto fitting = std::ranges::count_if(node.one_of, [&](NodeId one) { return would_fit(one, value); });
            if (fitting != 1)
                good = tell(node, "oneOf", [&] {
                    return fmt::format("{} of the {} schemas fit {}, and it must be one", fitting, node.one_of.size(),
                                       brief(value));
                });
        }
        if (node.negated && would_fit(*node.negated, value))
            good = tell(node, "not", [&] { return fmt::format("{} is what it must not be", brief(value)); });
        if (node.condition && (node.consequence || node.alternative)) {
            const auto branch = would_fit(*node.condition, value) ? node.consequence : node.alternative;
            if (branch && (good || goes_on())) good = fits(*branch, value) && good;
        }
        return good;
    }

    bool would_fit(NodeId id, const Json& value) {
        ++trying_;
        const bool good = fits(id, value);
        --trying_;
        return good;
    }

    /// `what` makes the words: writing a value out costs more than holding it against a schema, and is done only for
    /// who is told.
    template <class Words>
    bool tell(const Node& node, std::string_view keyword, Words what) {
        if (!goes_on()) return false;
        Json::json_pointer instance;
        for (const auto& token : path_)
            instance = token.is_string() ? instance / token.get<std::string>() : instance / token.get<std::size_t>();
        std::string place = node.pointer;
        if (!keyword.empty()) place += "/" + std::string(keyword);
        found_.push_back({instance.to_string(), std::string(keyword), std::move(place), what()});
        return false;
    }

    bool spend(std::size_t steps) {
        if (steps <= steps_) {
            steps_ -= steps;
            return true;
        }
        steps_ = 0;
        return give_up(fmt::format("it takes more than {} steps to check the value", program_.limits.steps));
    }

    bool spend_on(const Json& value) {
        if (value.is_string()) return spend(1 + value.get_ref<const std::string&>().size() / 64);
        if (!spend(1)) return false;
        if (!value.is_structured()) return true;
        return std::all_of(value.begin(), value.end(), [this](const Json& part) { return spend_on(part); });
    }

    /// From then on nothing fits, and nothing that was found counts: under a `not` it would be turned round.
    bool give_up(std::string why) {
        if (given_up_.empty()) given_up_ = std::move(why);
        return false;
    }

    const Program& program_;
    std::size_t steps_;
    std::size_t nested_ = 0;
    std::size_t trying_ = 0;
    /// Names and numbers.
    std::vector<Json> path_;
    std::vector<SchemaViolation> found_;
    std::string given_up_;
};

}  // namespace

}  // namespace schema

JsonSchema::JsonSchema(std::shared_ptr<const schema::Program> program) : program_(std::move(program)) {}

tl::expected<JsonSchema, std::vector<SchemaMistake>> JsonSchema::load(const nlohmann::json& schema,
                                                                      const SchemaLimits& limits) {
    auto program = schema::loaded(schema, limits);
    if (!program) return tl::unexpected(std::move(program.error()));
    return JsonSchema(std::make_shared<const schema::Program>(std::move(*program)));
}

std::vector<SchemaViolation> JsonSchema::violations(const nlohmann::json& value) const {
    return schema::Validator(*program_).violations(value);
}

}  // namespace lockstep::engine
