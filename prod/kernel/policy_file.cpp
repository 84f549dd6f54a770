#include "prod/kernel/policy_file.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "fakes/policy/parse.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

tl::expected<LoadedPolicy, std::string> parse_policy(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    auto document = fakes::policy::parse_document(nlohmann::json::parse(yaml->json));
    if (!document) {
        std::string all;
        for (const auto& error : document.error())
            all += fmt::format("{}{}: {} {}", all.empty() ? "" : "\n", yaml->place(error.path), error.path, error.message);
        return tl::make_unexpected(all);
    }
    std::string snapshot = fakes::policy::snapshot_id(*document, text);
    return LoadedPolicy{std::move(*document), std::move(snapshot)};
}

tl::expected<LoadedPolicy, std::string> load_policy(const std::string& file, std::size_t max_bytes) {
    const auto text = read_file(file, max_bytes);
    if (!text) return tl::make_unexpected(text.error());
    return parse_policy(*text, file);
}

}  // namespace lockstep::prod
