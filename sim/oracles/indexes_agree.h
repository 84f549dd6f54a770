// indexes_agree: state hash, mirror, state index, tenant set, deadline index and event list of a job agree at rest, as far
// as the engine wrote them. A gateway creates its jobs outside the tenant set: such a job joins at its first transition.
// An index has no time to live: it may list a job whose hash has expired, for job_meta_ttl from its last change and some ticks of
// the reconciler, which strikes such jobs off ("Keys that hold something else"). No scheduler strikes off a job that is known and
// still in that state.
//
// The event list is the sequence of the states that were written, from its beginning or, after a loss of data, from what was
// left of it. A mirror is there as long as the hash, unless its time ran out first; a deadline that a scheduler granted is
// listed under the same time. A job of which some of this was evicted is not judged. A gateway writes the two of them one after the other, and may die between.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class IndexesAgree final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted{};
    /// The tunables outlive the oracle.
    IndexesAgree(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    [[nodiscard]] std::string_view invariant() const override { return "indexes_agree"; }
    void at_rest(const RestView& view) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    void check_job(const fakes::redis::Keyspace& keys, std::string_view job);
    void check_history(const fakes::redis::Keyspace& keys, std::string_view job, std::string_view state);
    void check_mirror(const fakes::redis::Keyspace& keys, std::string_view job, std::string_view state);
    void check_deadline(const fakes::redis::Keyspace& keys, std::string_view job, std::string_view state);
    void check_strays(const fakes::redis::Keyspace& keys);
    void check_forgotten(std::string_view index, const fakes::redis::SortedSet& listed);
    void settle();

    /// What the present command has taken off an index.
    struct StruckOff {
        fakes::NodeId by;
        std::string index, job;
    };
    const engine::Tunables& tunables_;
    const Weather& weather_ = model().weather();
    std::vector<StruckOff> struck_off_;
    std::map<std::string, std::int64_t, std::less<>> gone_;  // jobs that are not known any more, and since when
    std::int64_t now_ms_ = 0;                                // by the clock of Redis
    const Time& now_ = told_at();

    using States = std::deque<std::string>;
    std::map<std::string, States, std::less<>> written_;       // by job, since its event list began
    std::set<std::string, std::less<>> expired_;               // jobs
    std::set<std::string, std::less<>> without_mirror_;        // jobs whose mirror ran out, or was lost or damaged
    std::set<std::string, std::less<>> scheduler_s_deadline_;  // jobs whose deadline is a scheduler's
};

}  // namespace lockstep::sim
