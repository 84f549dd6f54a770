// A schema after it was read.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/json_schema.h"

namespace lockstep::engine::schema {

/// Its place among `Program::nodes`.
using NodeId = std::uint32_t;
using Pattern = std::shared_ptr<const re2::RE2>;

enum class Type : std::uint8_t { null, boolean, integer, number, string, array, object };

/// One schema. What is not set does not constrain.
struct Node {
    std::string pointer;
    bool fits_nothing = false;
    std::optional<NodeId> reference;

    std::optional<std::vector<Type>> types;
    std::optional<std::vector<nlohmann::json>> values;
    std::optional<nlohmann::json> constant;

    std::optional<nlohmann::json> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;

    std::optional<std::size_t> min_length, max_length;
    Pattern pattern;

    std::optional<NodeId> items, additional_items;
    std::optional<std::vector<NodeId>> tuple;
    std::optional<std::size_t> min_items, max_items;
    bool unique_items = false;

    std::vector<std::string> required;
    std::map<std::string, NodeId> properties;
    std::vector<std::pair<Pattern, NodeId>> pattern_properties;
    std::optional<NodeId> additional_properties;
    std::optional<std::size_t> min_properties, max_properties;

    std::vector<NodeId> all_of, any_of, one_of;
    std::optional<NodeId> negated, condition, consequence, alternative;
};

/// No schema applies itself to the same value, by whatever way.
struct Program {
    std::vector<Node> nodes;  ///< the root first
    SchemaLimits limits;
};

}  // namespace lockstep::engine::schema
