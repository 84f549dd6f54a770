// What a key can hold. Everything that a command may list is ordered, so that a reply is a function of the content; the
// real server lists hashes and sets in an order of its own that nobody may rely on.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace lockstep::fakes::redis {

using Hash = std::map<std::string, std::string, std::less<>>;
using List = std::deque<std::string>;
using Set = std::set<std::string, std::less<>>;

/// Members with scores, ordered by score and then by name.
class SortedSet {
public:
    struct Ranked {
        double score = 0;
        std::string_view member;  // views the key of `scores_`, whose nodes never move
        friend bool operator<(const Ranked& a, const Ranked& b) {
            return a.score != b.score ? a.score < b.score : a.member < b.member;
        }
    };
    using Ranking = std::set<Ranked>;

    SortedSet() = default;
    SortedSet(SortedSet&&) noexcept = default;
    SortedSet& operator=(SortedSet&&) noexcept = default;
    SortedSet(const SortedSet& other);
    SortedSet& operator=(const SortedSet&) = delete;
    ~SortedSet() = default;

    [[nodiscard]] bool empty() const { return scores_.empty(); }
    [[nodiscard]] std::size_t size() const { return scores_.size(); }
    /// Null when `member` is none.
    [[nodiscard]] const double* score(std::string_view member) const;
    void set(std::string_view member, double score);
    void remove(std::string_view member);

    [[nodiscard]] const Ranking& ranking() const { return ranking_; }
    /// The member at `rank`, the lowest score being 0. REQUIRES: rank <= size().
    [[nodiscard]] Ranking::const_iterator at_rank(std::size_t rank) const;
    [[nodiscard]] std::size_t rank(std::string_view member) const;

private:
    std::map<std::string, double, std::less<>> scores_;
    Ranking ranking_;
};

using Value = std::variant<std::string, Hash, List, Set, SortedSet>;

/// As TYPE names it.
[[nodiscard]] std::string_view type_name(const Value& value);
/// True for a container without elements, which Redis does not keep.
[[nodiscard]] bool is_empty_container(const Value& value);

}  // namespace lockstep::fakes::redis
