#include "prod/kernel/input_scope.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/wire/json_text.h"
#include "engine/wire/text.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

std::string plain(std::string_view text) {
    std::string word = engine::wire::ascii_lower(engine::wire::trim(text));
    std::ranges::replace_if(word, [](char letter) { return letter == '-' || letter == ' '; }, '_');
    return word;
}

/// What a reason may quote of an input.
std::string excerpt(std::string_view text) {
    constexpr std::size_t kQuotedMax = 100;
    return fmt::format("\"{}{}\"", text.substr(0, kQuotedMax), text.size() > kQuotedMax ? "..." : "");
}

const json* member_at(const json& root, std::string_view path) {
    const json* node = &root;
    while (true) {
        const auto dot = path.find('.');
        const auto found = node->is_object() ? node->find(std::string(path.substr(0, dot))) : node->end();
        if (!node->is_object() || found == node->end()) return nullptr;
        node = &*found;
        if (dot == std::string_view::npos) return node;
        path.remove_prefix(dot + 1);
    }
}

std::string text_of(const json& item, const std::string& member) {
    if (!item.is_object() || !item.contains(member) || !item[member].is_string()) return {};
    return item[member].get<std::string>();
}

std::string category_of(std::string_view name, const std::map<std::string, std::string>& plain_aliases) {
    std::string category = plain(name);
    const auto alias = plain_aliases.find(category);
    return alias == plain_aliases.end() ? category : plain(alias->second);
}

/// The longest word that the instruction holds; the first of equally long ones.
const std::pair<const std::string, std::vector<std::string>>* covered_by(const InputScope& scope,
                                                                         std::string_view instruction) {
    const std::string text = plain(instruction);
    const std::pair<const std::string, std::vector<std::string>>* best = nullptr;
    for (const auto& entry : scope.allowed_categories) {
        if (text.find(plain(entry.first)) == std::string::npos) continue;
        if (best == nullptr || entry.first.size() > best->first.size()) best = &entry;
    }
    return best;
}

void read_verdict(fakes::policy::ObjectReader& reader, const char* key, bool& fires) {
    reader.named(key, fires, "allow, deny", [](std::string_view word) -> std::optional<bool> {
        if (word == "deny") return true;
        if (word == "allow") return false;
        return std::nullopt;
    });
}

}  // namespace

InputScope read_scope(const json& node, const std::string& path, fakes::policy::ParseErrors& errors) {
    InputScope scope;
    fakes::policy::ObjectReader reader(node, path, errors);
    reader.text("instruction_path", scope.instruction_path);
    reader.text("items_path", scope.items_path);
    if (scope.instruction_path.empty()) reader.fail("instruction_path", "is missing");
    if (scope.items_path.empty()) reader.fail("items_path", "is missing");
    reader.text("category_path", scope.category_path);
    reader.text("name_path", scope.name_path);
    reader.object("allowed_categories", [&](fakes::policy::ObjectReader& categories) {
        const json& words = node["allowed_categories"];
        if (!words.is_object()) return;
        for (const auto& [word, ignored] : words.items()) categories.texts(word, scope.allowed_categories[word]);
    });
    reader.labels("aliases", scope.aliases);
    read_verdict(reader, "on_missing_input", scope.fires_without_input);
    read_verdict(reader, "on_ambiguous", scope.fires_when_ambiguous);
    reader.refuse_unknown();
    return scope;
}

std::optional<std::string> violation(const InputScope& scope, std::string_view input) {
    const auto missing = [&scope](std::string what) {
        return scope.fires_without_input ? std::optional(std::move(what)) : std::nullopt;
    };
    const json root = engine::wire::parse_bounded(input);
    if (!root.is_object()) return missing("the input is no JSON object");
    const json* instruction = member_at(root, scope.instruction_path);
    if (instruction == nullptr || !instruction->is_string() || instruction->get_ref<const std::string&>().empty())
        return missing(fmt::format("the input has no instruction at {}", scope.instruction_path));
    const json* items = member_at(root, scope.items_path);
    if (items == nullptr || !items->is_array() || items->empty())
        return missing(fmt::format("the input has no items at {}", scope.items_path));

    const auto* covered = covered_by(scope, instruction->get_ref<const std::string&>());
    if (covered == nullptr) {
        if (!scope.fires_when_ambiguous) return std::nullopt;
        return fmt::format("no known purpose in {}", excerpt(instruction->get_ref<const std::string&>()));
    }
    if (covered->second.empty()) return std::nullopt;
    std::map<std::string, std::string> aliases;
    for (const auto& [name, category] : scope.aliases) aliases.emplace(plain(name), category);
    std::set<std::string> allowed;
    for (const std::string& name : covered->second) allowed.insert(category_of(name, aliases));
    for (const json& item : *items) {
        const std::string category = text_of(item, scope.category_path);
        if (allowed.contains(category_of(category, aliases))) continue;
        return fmt::format("{} is of category {}, which \"{}\" does not cover", excerpt(text_of(item, scope.name_path)),
                           excerpt(category), covered->first);
    }
    return std::nullopt;
}

}  // namespace lockstep::prod
