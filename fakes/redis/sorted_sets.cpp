#include <cmath>

#include "fakes/redis/handlers.h"

// Commands on single members of sorted sets; ranges are in sorted_set_ranges.cpp.

namespace lockstep::fakes::redis::handlers {

namespace {

struct AddOptions {
    bool nx = false, xx = false, gt = false, lt = false;
    bool count_changes = false;
    bool increment = false;
};

RedisValue not_a_number() { return error(ErrorKind::score_not_a_number); }

/// What adding one member did; `ended` = the options forbade it.
struct Added {
    bool created = false;
    bool updated = false;
    bool ended = false;
    bool nan = false;
    double score = 0;
};

Added add_member(Call& call, Keyspace::Node& node, std::string_view member, double score, const AddOptions& options) {
    const auto& set = std::get<SortedSet>(node.second.value);
    const double* current = set.score(member);
    if (current == nullptr) {
        if (options.xx) return {.ended = true};
        call.keys.zset_set(node, member, score);
        return {.created = true, .score = score};
    }
    if (options.nx) return {.ended = true};
    const double before = *current;
    if (options.increment) score += before;
    if (std::isnan(score)) return {.nan = true};
    if ((options.lt && score >= before) || (options.gt && score <= before)) return {.ended = true};
    if (score == before) return {.score = score};  // it may differ in the sign of zero
    call.keys.zset_set(node, member, score);
    return {.updated = true, .score = score};
}

/// Adds the score and member pairs; every score is checked before the first one takes effect.
RedisValue add_members(Call& call, Args pairs, const AddOptions& options) {
    std::vector<double> scores;
    scores.reserve(pairs.size() / 2);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const auto score = parse_score(pairs[i]);
        if (!score) return not_a_float();
        scores.push_back(*score);
    }
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found && options.xx) return options.increment ? nil() : integer(0);
    Keyspace::Node& node = existing_or_new(call.keys, found, call.key());
    std::int64_t created = 0;
    std::int64_t updated = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const Added added = add_member(call, node, pairs[2 * i + 1], scores[i], options);
        if (added.nan) return not_a_number();
        if (options.increment) return added.ended ? nil() : bulk(format_score(added.score));
        created += added.created ? 1 : 0;
        updated += added.updated ? 1 : 0;
    }
    return integer(options.count_changes ? created + updated : created);
}

RedisValue rank_of(Call& call, bool reverse) {
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found || found.value->score(call.args[2]) == nullptr) return nil();
    const std::size_t rank = found.value->rank(call.args[2]);
    return count_of(reverse ? found.value->size() - 1 - rank : rank);
}

}  // namespace

RedisValue zadd(Call& call) {
    AddOptions options;
    std::size_t next = 2;
    for (; next < call.args.size(); ++next) {
        const std::string_view word = call.args[next];
        if (same_word(word, "NX")) {
            options.nx = true;
        } else if (same_word(word, "XX")) {
            options.xx = true;
        } else if (same_word(word, "GT")) {
            options.gt = true;
        } else if (same_word(word, "LT")) {
            options.lt = true;
        } else if (same_word(word, "CH")) {
            options.count_changes = true;
        } else if (same_word(word, "INCR")) {
            options.increment = true;
        } else {
            break;
        }
    }
    const Args pairs = call.args.subspan(next);
    if (pairs.empty() || pairs.size() % 2 != 0) return syntax_error();
    if (options.nx && options.xx) return error(ErrorKind::add_nx_and_xx);
    if ((options.gt && options.nx) || (options.lt && options.nx) || (options.gt && options.lt)) {
        return error(ErrorKind::add_gt_lt_nx);
    }
    if (options.increment && pairs.size() > 2) return error(ErrorKind::add_increments_one);
    return add_members(call, pairs, options);
}

RedisValue zincrby(Call& call) { return add_members(call, call.args.subspan(2), {.increment = true}); }

RedisValue zrem(Call& call) {
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    std::int64_t removed = 0;
    if (!found) return integer(removed);
    for (const std::string_view member : call.args.subspan(2)) {
        if (found.value->score(member) == nullptr) continue;
        ++removed;
        if (call.keys.zset_remove(*found.node, member)) break;
    }
    return integer(removed);
}

RedisValue zcard(Call& call) {
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return count_of(found ? found.value->size() : 0);
}

RedisValue zscore(Call& call) {
    const auto found = lookup<SortedSet>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    const double* score = found ? found.value->score(call.args[2]) : nullptr;
    return score != nullptr ? bulk(format_score(*score)) : nil();
}

RedisValue zrank(Call& call) { return rank_of(call, false); }

RedisValue zrevrank(Call& call) { return rank_of(call, true); }

}  // namespace lockstep::fakes::redis::handlers
