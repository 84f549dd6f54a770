#include "prod/config/pools_file.h"

#include <fmt/core.h>

#include "prod/config/yaml.h"

namespace lockstep::prod {

tl::expected<PoolsFile, std::string> parse_pools_file(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    if (yaml->json == "null")
        return tl::make_unexpected(
            fmt::format("{}: empty; it needs at least \"topics: {{job.default: [default]}}\"", file));
    auto table = engine::parse_pools(yaml->json);
    if (!table)
        return tl::make_unexpected(
            fmt::format("{}: {} {}", yaml->place(table.error().pointer), table.error().pointer, table.error().message));
    return PoolsFile{std::move(*table), yaml->json};
}

}  // namespace lockstep::prod
