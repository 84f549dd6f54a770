#include "sim/scenario/read.h"

#include <nlohmann/json.hpp>

#include "sim/scenario/values.h"

namespace lockstep::sim::detail {

using nlohmann::json;

const json* member(const json& object, std::string_view key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const json& object, std::string_view key, std::string_view otherwise) {
    const json* value = member(object, key);
    return value == nullptr ? std::string(otherwise) : value->get<std::string>();
}

double number_of(const json& object, std::string_view key, double otherwise) {
    const json* value = member(object, key);
    return value == nullptr ? otherwise : value->get<double>();
}

int int_of(const json& object, std::string_view key, int otherwise) {
    const json* value = member(object, key);
    return value == nullptr ? otherwise : value->get<int>();
}

bool flag_of(const json& object, std::string_view key, bool otherwise) {
    const json* value = member(object, key);
    return value == nullptr ? otherwise : value->get<bool>();
}

std::vector<std::string> texts_of(const json& object, std::string_view key) {
    std::vector<std::string> texts;
    if (const json* list = member(object, key)) {
        for (const json& one : *list)
            if (one.is_string()) texts.push_back(one.get<std::string>());
    }
    return texts;
}

std::map<std::string, std::string> labels_of(const json& object, std::string_view key) {
    std::map<std::string, std::string> labels;
    if (const json* map = member(object, key)) {
        for (const auto& [name, value] : map->items()) labels.emplace(name, value.get<std::string>());
    }
    return labels;
}

Duration duration_value(const json& value) {
    return value.is_string() ? parse_signed_duration(value.get_ref<const std::string&>()).value_or(Duration{})
                             : Duration{};
}

Duration duration_of(const json& object, std::string_view key, Duration otherwise) {
    const json* value = member(object, key);
    return value == nullptr ? otherwise : duration_value(*value);
}

Distribution distribution_of(const json& object, std::string_view key, Distribution otherwise) {
    using Kind = Distribution::Kind;
    const json* value = member(object, key);
    if (value == nullptr) return otherwise;
    if (!value->is_object()) return Distribution::constant(duration_value(*value));
    const std::string kind = text_of(*value, "dist");
    if (kind == "uniform") return {Kind::uniform, duration_of(*value, "min"), duration_of(*value, "max"), 0};
    if (kind == "exp") return {Kind::exponential, duration_of(*value, "mean"), {}, 0};
    if (kind == "lognormal") return {Kind::lognormal, duration_of(*value, "median"), {}, number_of(*value, "sigma", 0)};
    return {Kind::pareto, duration_of(*value, "min"), {}, number_of(*value, "alpha", 1)};
}

}  // namespace lockstep::sim::detail
