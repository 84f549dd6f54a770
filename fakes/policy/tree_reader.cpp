#include "fakes/policy/tree_reader.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/wire/json_text.h"

namespace lockstep::fakes::policy {
namespace {

std::optional<std::string> scalar(const nlohmann::json& node) {
    if (node.is_string()) return node.get<std::string>();
    if (node.is_number() || node.is_boolean()) return engine::wire::json_text(node);
    return std::nullopt;
}

}  // namespace

ObjectReader::ObjectReader(const nlohmann::json& node, std::string path, ParseErrors& errors)
    : node_(node), path_(std::move(path)), errors_(errors) {
    if (!node_.is_object() && !node_.is_null()) errors_.push_back({path_, "must be an object"});
}

const nlohmann::json* ObjectReader::find(std::string_view key) {
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
    if (!node_.is_object()) return nullptr;
    const auto found = node_.find(key);
    return found == node_.end() || found->is_null() ? nullptr : &*found;
}

bool ObjectReader::present(std::string_view key) { return find(key) != nullptr; }

std::string ObjectReader::token(std::string_view name) {
    return (nlohmann::json::json_pointer() / std::string(name)).to_string();
}

std::string ObjectReader::path_of(std::string_view key) const { return path_ + token(key); }

void ObjectReader::fail(std::string_view key, std::string message) {
    errors_.push_back({path_of(key), std::move(message)});
}

void ObjectReader::text(std::string_view key, std::string& target) {
    const nlohmann::json* node = find(key);
    if (node == nullptr) return;
    if (auto value = scalar(*node)) {
        target = std::move(*value);
    } else {
        fail(key, "must be text");
    }
}

std::vector<std::pair<const nlohmann::json*, std::string>> ObjectReader::list(std::string_view key) {
    std::vector<std::pair<const nlohmann::json*, std::string>> elements;
    const nlohmann::json* node = find(key);
    if (node == nullptr) return elements;
    if (!node->is_array()) {
        fail(key, "must be a list");
        return elements;
    }
    for (std::size_t i = 0; i < node->size(); ++i) {
        elements.emplace_back(&(*node)[i], fmt::format("{}/{}", path_of(key), i));
    }
    return elements;
}

void ObjectReader::texts(std::string_view key, std::vector<std::string>& target) {
    for (const auto& [node, path] : list(key)) {
        if (auto value = scalar(*node)) {
            target.push_back(std::move(*value));
        } else {
            errors_.push_back({path, "must be text"});
        }
    }
}

void ObjectReader::boolean(std::string_view key, bool& target) {
    std::optional<bool> value;
    boolean(key, value);
    target = value.value_or(target);
}

void ObjectReader::boolean(std::string_view key, std::optional<bool>& target) {
    const nlohmann::json* node = find(key);
    if (node == nullptr) return;
    if (node->is_boolean()) {
        target = node->get<bool>();
    } else {
        fail(key, "must be true or false");
    }
}

void ObjectReader::integer(std::string_view key, std::int64_t& target, std::int64_t min, std::int64_t max) {
    const nlohmann::json* node = find(key);
    if (node == nullptr) return;
    // An unsigned number beyond 63 bits would turn negative below and be refused by the range, as it should.
    if (!node->is_number_integer()) return fail(key, "must be a whole number");
    const auto value = node->get<std::int64_t>();
    if (value < min || value > max)
        return fail(key, fmt::format("{} is not within {} and {}", engine::wire::json_text(*node), min, max));
    target = value;
}

void ObjectReader::labels(std::string_view key, std::map<std::string, std::string>& target) {
    const nlohmann::json* node = find(key);
    if (node == nullptr) return;
    if (!node->is_object()) return fail(key, "must be an object");
    for (const auto& [name, value] : node->items()) {
        if (auto label = scalar(value)) {
            target[name] = std::move(*label);
        } else {
            errors_.push_back({path_of(key) + token(name), "must be text"});
        }
    }
}

void ObjectReader::refuse_unknown() {
    if (!node_.is_object()) return;
    std::ranges::sort(known_);
    for (const auto& [name, value] : node_.items()) {
        if (std::ranges::binary_search(known_, name)) continue;
        errors_.push_back({path_of(name), fmt::format("unknown key; known here: {}", fmt::join(known_, ", "))});
    }
}

}  // namespace lockstep::fakes::policy
