#include "prod/kernel/policy_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "fakes/policy/parse.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {
namespace {

/// The place in the file of a place in the tree, which may have more input rules.
std::string as_written(const std::string& path, const InputConditions& conditions) {
    constexpr std::string_view kRules = "/input_rules/";
    if (!path.starts_with(kRules)) return path;
    const auto end = std::min(path.find('/', kRules.size()), path.size());
    std::size_t rule = 0;
    const auto [rest, error] = std::from_chars(path.data() + kRules.size(), path.data() + end, rule);
    if (error != std::errc() || rule >= conditions.origins.size()) return path;
    return fmt::format("{}{}{}", kRules, conditions.origins[rule], path.substr(end));
}

}  // namespace

tl::expected<LoadedPolicy, std::string> parse_policy(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    auto tree = engine::wire::sound_json(yaml->json);
    fakes::policy::ParseErrors errors;
    InputConditions conditions = take_input_conditions(tree, errors);
    auto document = fakes::policy::parse_document(tree);
    if (!document)
        for (auto& error : document.error())
            errors.push_back({as_written(error.path, conditions), std::move(error.message)});
    if (!errors.empty()) {
        std::string all;
        for (const auto& error : errors)
            all +=
                fmt::format("{}{}: {} {}", all.empty() ? "" : "\n", yaml->place(error.path), error.path, error.message);
        return tl::make_unexpected(all);
    }
    std::string snapshot = fakes::policy::snapshot_id(*document, text);
    return LoadedPolicy{std::move(*document), std::move(snapshot), std::move(conditions)};
}

tl::expected<LoadedPolicy, std::string> load_policy(const std::string& file, std::size_t max_bytes) {
    const auto text = read_file(file, max_bytes);
    if (!text) return tl::make_unexpected(text.error());
    return parse_policy(*text, file);
}

}  // namespace lockstep::prod
