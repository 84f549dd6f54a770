#include "fakes/redis/value.h"

#include <iterator>
#include <type_traits>

namespace lockstep::fakes::redis {

SortedSet::SortedSet(const SortedSet& other) : scores_(other.scores_) {
    for (const auto& [member, score] : scores_) ranking_.insert({score, member});
}

const double* SortedSet::score(std::string_view member) const {
    const auto found = scores_.find(member);
    return found == scores_.end() ? nullptr : &found->second;
}

void SortedSet::set(std::string_view member, double score) {
    score += 0.0;  // the real one's compact form has no negative zero
    auto found = scores_.find(member);
    if (found == scores_.end()) {
        found = scores_.emplace(std::string(member), score).first;
    } else {
        ranking_.erase({found->second, found->first});
        found->second = score;
    }
    ranking_.insert({score, found->first});
}

void SortedSet::remove(std::string_view member) {
    const auto found = scores_.find(member);
    if (found == scores_.end()) return;
    ranking_.erase({found->second, found->first});
    scores_.erase(found);
}

SortedSet::Ranking::const_iterator SortedSet::at_rank(std::size_t rank) const {
    // Trimming to the newest n and listing pages walk from an end, so the nearer one is good enough.
    if (rank <= ranking_.size() / 2) return std::next(ranking_.begin(), static_cast<std::ptrdiff_t>(rank));
    return std::prev(ranking_.end(), static_cast<std::ptrdiff_t>(ranking_.size() - rank));
}

std::size_t SortedSet::rank(std::string_view member) const {
    const double* own = score(member);
    return static_cast<std::size_t>(std::distance(ranking_.begin(), ranking_.find({*own, member})));
}

std::string_view type_name(const Value& value) {
    constexpr std::string_view kNames[] = {"string", "hash", "list", "set", "zset"};
    return kNames[value.index()];
}

bool is_empty_container(const Value& value) {
    return std::visit(
        [](const auto& content) {
            return !std::is_same_v<std::remove_cvref_t<decltype(content)>, std::string> && content.empty();
        },
        value);
}

}  // namespace lockstep::fakes::redis
