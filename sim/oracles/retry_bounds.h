// retry_bounds: a try that found no worker is followed by another one after min(base * 2^n + jitter, max), jitter uniform in
// [0, backoff_jitter), and there are no more than max_scheduling_retries of them.
//
// Read off the attempts in the job hash, which grow without a change of state when a try fails, and off the delays with
// which messages are handed back after that. Deliveries that a consumer makes on its own account are no tries.
// The delay is kept by Redis' clock: one during which that clock jumps says nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class RetryBounds final : public Oracle {
public:
    RetryBounds(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "retry_bounds"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void at_rest(const RestView& view) override;

private:
    struct Job {
        bool state_written = false;          // in the same command: the attempts that follow belong to a dispatch
        bool rolled_back = false;            // last it was taken back from DISPATCHED
        std::optional<std::int64_t> failed;  // the number of the last failed try, counted from 0
        Time failed_at{};
        EventNumber failed_event = 0;
        fakes::NodeId by;
        bool nak_expected = false;
    };
    void on_failed_try(fakes::NodeId client, const std::string& name, Job& job, std::int64_t number);
    void on_take_up(const fakes::Event& event);
    void on_nak(const fakes::Event& event);
    [[nodiscard]] engine::Duration shortest(std::int64_t number) const;

    const engine::Tunables& tunables_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::string to_stamp_;
    Time now_{};
    std::optional<Time> store_clock_jumped_at_;
    std::vector<engine::Duration> jitters_;
};

}  // namespace lockstep::sim
