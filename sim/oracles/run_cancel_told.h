// run_cancel_told: a job that its workflow run needs no more is called off (workflow.md 5.2, 5.4 and 9). Where an engine writes that a
// step is over whose job has not ended, whether a person has decided it, enough of its siblings have succeeded, or its run has ended,
// a JobCancel about that job is published afterwards, however many engines die meanwhile: what is to be said stands in the commit.
//
// Judged when all is quiet. Not judged are runs that Redis has lost, or lost keys of, and jobs of which it has.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class RunCancelTold final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::core_publish};

    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "run_cancel_told"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Owed {
        fakes::NodeId by;
        std::string run, step;
        EventNumber written = 0;
    };
    /// Jobs by the steps that are at work on them.
    using AtWork = std::map<std::string, std::string, std::less<>>;

    std::map<std::string, AtWork, std::less<>> runs_;
    std::map<std::string, Owed, std::less<>> owed_;  // by job
};

}  // namespace lockstep::sim
