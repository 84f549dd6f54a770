#include "sim/search/exploration_state.h"

#include <fmt/format.h>

#include "engine/wire/json_text.h"
#include "sim/scenario/document.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

std::string exploration_state_text(const ExplorationState& state) {
    return pretty(Document{{"kind", "lockstep exploration"},
                           {"version", 1},
                           {"build", state.build},
                           {"arguments", state.arguments},
                           {"next", state.next},
                           {"regressions", state.regressions}});
}

tl::expected<std::optional<ExplorationState>, std::string> load_exploration_state(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return std::optional<ExplorationState>{};
    const Document document = engine::wire::read_ordered_json(text_of_file(path).value_or(""));
    try {
        if (document.at("kind") == "lockstep exploration" && document.at("version") == 1) {
            return std::optional<ExplorationState>{
                {document.at("arguments").get<std::string>(), document.at("next").get<std::uint64_t>(),
                 document.at("regressions").get<std::vector<std::uint64_t>>(), document.value("build", std::string{})}};
        }
    } catch (const Document::exception&) {
        // Said below: whatever is wrong with it, it is not what we wrote.
    }
    return tl::make_unexpected(
        fmt::format("{} is not the state of an exploration; remove it or use another --out", path.string()));
}

}  // namespace lockstep::sim
