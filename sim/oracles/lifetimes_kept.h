// lifetimes_kept: what a scheduler writes lives as long as it is documented to, neither shorter nor for ever
// (redis-schema.md 1 to 5; the times: documented_lifetimes.h).
//
// 1. A string that is set, and a key that is given an expiry, expires when the documents say so. What is documented to live for
//    ever is given none.
// 2. A set, a list or a hash that is made has an expiry when the command is over; where the documents say that the write renews
//    it, it is the full one.
// 3. No write takes the expiry of a key away, whatever the key is for; save those of a workflow run that a gateway has taken back
//    from its end: what is kept of it has an expiry again when it ends.
// 4. A job's state and request do not run out before its hash, nor, when the job changes its state, its result pointer.
//
// Judged as each command ends: a script may put right what it has left out at first. What gateways and operators write is theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/oracles/documented_lifetimes.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LifetimesKept final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{};
    LifetimesKept(Judge& judge, const TunablesInForce& tunables) : Oracle(judge), lifetimes_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "lifetimes_kept"; }

    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void set_added(fakes::NodeId client, std::string_view key, std::string_view member) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    /// A key that the present command of a scheduler has written.
    struct Written {
        std::string key;
        const Lifetime* life = nullptr;   // null: the documents name no such key
        std::int64_t expires_before = 0;  // as the command found it; kNever also for a key that was not there
        std::int64_t expires_at = 0;      // as it is now
        bool made = false;                // by this command
        bool renewed = false;             // the write is one that gives it its full time
        bool moved = false;               // of a job's hash: its state was written
    };

    /// A container has got something. `renews`: that gives it its full time.
    Written* on_content(fakes::NodeId client, std::string_view key, bool renews);
    Written& written(std::string_view key, const Lifetime* life, std::int64_t expires_before);
    [[nodiscard]] bool judges(fakes::NodeId client) const;
    void settle();
    void judge(const Written& key);
    void judge_together(const Written& hash);
    void note_run(std::string_view key, std::string_view document);
    [[nodiscard]] bool is_of_an_open_run(std::string_view key) const;
    void object(std::string_view key, std::string detail);
    /// Where a container or a job's record stands now; nothing for others, and for those that are not there.
    void remember(std::string_view key, std::int64_t expires_at);

    const DocumentedLifetimes lifetimes_;
    /// Of containers that have an end, and of jobs' records. Looked up for each write, never iterated.
    std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> expiries_;
    std::set<std::string, std::less<>> open_runs_;  // workflow runs that are not over
    std::vector<Written> written_;                  // by the present command
    fakes::NodeId client_;                          // whose command it is; not valid: none is under way
    std::int64_t now_ms_ = 0;
};

}  // namespace lockstep::sim
