// dead_letter_complete: every job that a scheduler ended DENIED, TIMEOUT, OUTPUT_QUARANTINED, or FAILED without leave to retry,
// has a dead letter with a reason code, and so has every message that was terminated. The first cause stays. When all is
// quiet, every letter has been told on the bus. The index lists the letters that there are, and of those that there are not
// only such as ran out: it has no time to live itself.
//
// What a gateway ends is the gateway's business: it writes its own letters.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class DeadLetterComplete final : public Oracle {
public:
    /// The tunables outlive the oracle.
    DeadLetterComplete(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "dead_letter_complete"; }

    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;

private:
    struct Letter {
        std::string code;
        bool by_scheduler = false;
        EventNumber event = 0;
    };

    [[nodiscard]] bool needs_letter(std::string_view job, std::string_view state) const;
    void judge_index(const fakes::redis::Keyspace& keys);

    const engine::Tunables& tunables_;
    std::set<fakes::NodeId> schedulers_;                        // nodes that have run a scheduler's script
    std::map<std::string, std::string, std::less<>> ended_;     // job -> the bad end that a scheduler gave it
    std::map<std::string, EventNumber, std::less<>> ended_at_;  // likewise
    std::set<std::string, std::less<>> retryable_;              // jobs with a failure that may be retried
    std::map<std::string, Letter, std::less<>> letters_;        // by id; also those that have expired since
    std::set<std::string, std::less<>> ran_out_;                // ids of letters that expired, or were lost
    bool index_lost_ = false;
    std::set<std::string, std::less<>> told_;                     // ids that the stream has taken
    std::map<std::string, EventNumber, std::less<>> terminated_;  // ids that letters of terminated messages must have
};

}  // namespace lockstep::sim
