#include <algorithm>
#include <vector>

#include "fakes/redis/handlers.h"

// Commands on ranges of sorted sets, by rank and by score.

namespace lockstep::fakes::redis::handlers {

namespace {

using Position = SortedSet::Ranking::const_iterator;

struct ScoreRange {
    ScoreBound low;
    ScoreBound high;
};

RedisValue bad_bound() { return error(ErrorKind::min_or_max_not_a_float); }

std::optional<ScoreRange> parse_score_range(std::string_view low, std::string_view high) {
    const auto min = parse_score_bound(low);
    const auto max = parse_score_bound(high);
    if (!min || !max) return std::nullopt;
    return ScoreRange{*min, *max};
}

/// The members within the range, lowest first.
std::pair<Position, Position> members_within(const SortedSet& set, const ScoreRange& range) {
    const auto& ranking = set.ranking();
    // An empty member sorts before every member of the same score.
    Position first = ranking.lower_bound({range.low.value, {}});
    while (range.low.exclusive && first != ranking.end() && first->score == range.low.value) ++first;
    Position last = first;
    const auto within = [&](double score) {
        return range.high.exclusive ? score < range.high.value : score <= range.high.value;
    };
    while (last != ranking.end() && within(last->score)) ++last;
    return {first, last};
}

enum class By : std::uint8_t { unspecified, rank, score };
enum class Direction : std::uint8_t { unspecified, forward, reverse };

struct RangeQuery {
    By by;
    Direction direction;
    bool with_scores = false;
    std::int64_t offset = 0;
    std::int64_t limit = -1;
};

/// Parses what follows the two bounds; the error reply, or nil.
RedisValue parse_range_options(Args words, RangeQuery& query) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (same_word(words[i], "WITHSCORES")) {
            query.with_scores = true;
        } else if (same_word(words[i], "LIMIT") && i + 2 < words.size()) {
            const auto offset = parse_integer(words[i + 1]);
            const auto limit = parse_integer(words[i + 2]);
            if (!offset || !limit) return not_an_integer();
            query.offset = *offset;
            query.limit = *limit;
            i += 2;
        } else if (query.direction == Direction::unspecified && same_word(words[i], "REV")) {
            query.direction = Direction::reverse;
        } else if (query.by == By::unspecified && same_word(words[i], "BYSCORE")) {
            query.by = By::score;
        } else {
            return syntax_error();
        }
    }
    if (query.direction == Direction::unspecified) query.direction = Direction::forward;
    if (query.by == By::unspecified) query.by = By::rank;
    if (query.limit != -1 && query.by == By::rank) {
        return error(ErrorKind::limit_without_range);
    }
    return nil();
}

void put_member(RedisValue::Array& reply, const SortedSet::Ranked& ranked, bool with_scores) {
    reply.push_back(bulk(ranked.member));
    if (with_scores) reply.push_back(bulk(format_score(ranked.score)));
}

RedisValue list_by_rank(const SortedSet& set, std::int64_t from, std::int64_t to, const RangeQuery& query) {
    RedisValue::Array reply;
    const auto [first, last] = clamp_range(from, to, set.size());
    if (first > last) return reply;
    const std::int64_t count = last - first + 1;
    if (query.direction == Direction::forward) {
        Position position = set.at_rank(static_cast<std::size_t>(first));
        for (std::int64_t i = 0; i < count; ++i) put_member(reply, *position++, query.with_scores);
    } else {
        Position position = set.at_rank(set.size() - static_cast<std::size_t>(first));
        for (std::int64_t i = 0; i < count; ++i) put_member(reply, *--position, query.with_scores);
    }
    return reply;
}

template <class Iterator>
RedisValue list_page(Iterator position, Iterator end, const RangeQuery& query) {
    RedisValue::Array reply;
    // A negative offset skips everything and a negative limit is none, as in Redis.
    for (std::int64_t skip = query.offset; position != end && skip != 0; --skip) ++position;
    for (std::int64_t left = query.limit; position != end && left != 0; --left) {
        put_member(reply, *position++, query.with_scores);
    }
    return reply;
}

RedisValue list_range(Call& call, RangeQuery query) {
    RedisValue refusal = parse_range_options(call.args.subspan(4), query);
    if (refusal.error() != nullptr) return refusal;
    const bool reverse = query.direction == Direction::reverse;
    if (query.by == By::rank) {
        const auto from = parse_integer(call.args[2]);
        const auto to = parse_integer(call.args[3]);
        if (!from || !to) return not_an_integer();
        const auto found = lookup<SortedSet>(call.keys, call.key());
        if (found.wrong) return wrong_type();
        return found ? list_by_rank(*found.value, *from, *to, query) : RedisValue::Array();
    }
    const auto range =
        reverse ? parse_score_range(call.args[3], call.args[2]) : parse_score_range(call.args[2], call.args[3]);
    if (!range) return bad_bound();
    call.keys.tell_listed(call.key());
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return RedisValue::Array();
    const auto [first, last] = members_within(*found.value, *range);
    if (reverse) return list_page(std::make_reverse_iterator(last), std::make_reverse_iterator(first), query);
    return list_page(first, last, query);
}

RedisValue remove_members(Call& call, Keyspace::Node& node, Position first, Position last) {
    std::vector<std::string> members;
    for (; first != last; ++first) members.emplace_back(first->member);
    for (const std::string& member : members) call.keys.zset_remove(node, member);
    return count_of(members.size());
}

}  // namespace

RedisValue zrange(Call& call) { return list_range(call, {By::unspecified, Direction::unspecified}); }

RedisValue zrevrange(Call& call) { return list_range(call, {By::rank, Direction::reverse}); }

RedisValue zrangebyscore(Call& call) { return list_range(call, {By::score, Direction::forward}); }

RedisValue zrevrangebyscore(Call& call) { return list_range(call, {By::score, Direction::reverse}); }

RedisValue zcount(Call& call) {
    const auto range = parse_score_range(call.args[2], call.args[3]);
    if (!range) return bad_bound();
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return integer(0);
    const auto [first, last] = members_within(*found.value, *range);
    return integer(std::distance(first, last));
}

RedisValue zremrangebyrank(Call& call) {
    const auto from = parse_integer(call.args[2]);
    const auto to = parse_integer(call.args[3]);
    if (!from || !to) return not_an_integer();
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return integer(0);
    const auto [first, last] = clamp_range(*from, *to, found.value->size());
    if (first > last) return integer(0);
    return remove_members(call, *found.node, found.value->at_rank(static_cast<std::size_t>(first)),
                          found.value->at_rank(static_cast<std::size_t>(last) + 1));
}

RedisValue zremrangebyscore(Call& call) {
    const auto range = parse_score_range(call.args[2], call.args[3]);
    if (!range) return bad_bound();
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return integer(0);
    const auto [first, last] = members_within(*found.value, *range);
    return remove_members(call, *found.node, first, last);
}

}  // namespace lockstep::fakes::redis::handlers
