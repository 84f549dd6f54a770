#include "engine/expression/expression_budget.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;

}  // namespace

bool Budget::spend(std::size_t steps) {
    if (steps > steps_) {
        end_ = End::steps;
        return false;
    }
    steps_ -= steps;
    return true;
}

bool Budget::walk(const Json& value, std::size_t depth, bool kept) {
    const auto text = [this, kept](const std::string& one) {
        return spend_text(one.size()) && (!kept || keep(one.size()));
    };
    if (!spend(1)) return false;
    if (value.is_string()) return text(value.get_ref<const std::string&>());
    if (!value.is_structured() || value.empty()) return true;
    if (depth == 0) {
        end_ = End::depth;
        return false;
    }
    if (value.is_array()) {
        for (const Json& one : value)
            if (!walk(one, depth - 1, kept)) return false;
        return true;
    }
    for (const auto& [key, one] : value.get_ref<const Json::object_t&>())
        if (!text(key) || !walk(one, depth - 1, kept)) return false;
    return true;
}

bool Budget::keep(std::size_t bytes) {
    if (bytes > limits_.bytes - kept_) {
        end_ = End::bytes;
        return false;
    }
    kept_ += bytes;
    return true;
}

std::string Budget::reason() const {
    switch (end_) {
        case End::depth: return fmt::format("meets a value that is nested deeper than {}", limits_.depth);
        case End::bytes: return fmt::format("makes more than {} bytes of text", limits_.bytes);
        case End::steps:
        case End::none: break;
    }
    return fmt::format("takes more than the {} steps of work that there are", limits_.steps);
}

}  // namespace lockstep::engine::expression
