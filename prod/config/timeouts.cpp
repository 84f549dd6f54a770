#include "prod/config/timeouts.h"

#include <fmt/core.h>

#include "prod/config/yaml.h"

namespace lockstep::prod {

tl::expected<engine::Timeouts, std::string> parse_timeouts_file(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    auto timeouts = engine::parse_timeouts(yaml->json);
    if (timeouts) return std::move(*timeouts);
    std::string mistakes;
    for (const auto& [pointer, what] : timeouts.error())
        mistakes += fmt::format("{}{}: {} {}", mistakes.empty() ? "" : "\n", yaml->place(pointer), pointer, what);
    return tl::make_unexpected(mistakes);
}

}  // namespace lockstep::prod
