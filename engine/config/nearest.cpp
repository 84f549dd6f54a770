#include "engine/config/nearest.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/edit_distance.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
    // Names are short: comparing a pasted novel with each of them would only take long.
    if (word.empty() || word.size() > 200) return {};
    const std::string wanted = wire::ascii_lower(word);
    std::string_view best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t away = edit_distance(wanted, wire::ascii_lower(candidate));
        if (best.empty() || away < best_distance) {
            best = candidate;
            best_distance = away;
        }
    }
    // A third of the letters wrong is a slip; more is another word.
    return best_distance <= std::max<std::size_t>(1, std::max(word.size(), best.size()) / 3) ? best
                                                                                             : std::string_view{};
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
    constexpr std::size_t kListedMax = 16;
    if (const auto near = nearest(word, candidates); !near.empty()) return fmt::format("; did you mean \"{}\"?", near);
    if (candidates.empty() || candidates.size() > kListedMax) return {};
    return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace lockstep::engine
