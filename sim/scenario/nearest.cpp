#include "sim/scenario/nearest.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/wire/text.h"

namespace lockstep::sim {

namespace {

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
    // Names are short: comparing a pasted novel with each of them would only take long.
    if (word.empty() || word.size() > 200) return {};
    const std::string wanted = engine::wire::ascii_lower(word);
    std::string_view best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t away = distance(wanted, engine::wire::ascii_lower(candidate));
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

}  // namespace lockstep::sim
