// no_lost_job: every valid submission that JetStream acknowledged is, when all is quiet, terminal or waiting for an
// approval. One whose packet was garbled on its way to the stream is valid no more, when nobody could read it as this
// job's or it fails the checks on packets (engine/wire/validation.h). Nor is one whose records Redis has lost, or that only a
// NATS knew that lost its power.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoLostJob final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::stored, fakes::EventKind::state,
                                                                   fakes::EventKind::fault, fakes::EventKind::submit};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "no_lost_job"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;

private:
    std::map<std::string, EventNumber, std::less<>> acknowledged_;  // job -> when
    void on_stored(const fakes::Event& event);

    const LostRecords& lost_ = jobs().lost();
    std::set<std::string, std::less<>> only_stored_;  // jobs that the stream has and Redis has never had
    std::set<std::string, std::less<>> recorded_;     // jobs that Redis has had
    std::set<std::string, std::less<>> cut_off_;      // those that only the stream had when NATS lost its power
    std::set<std::string, std::less<>> garbled_;
    std::set<std::string, std::less<>> outlived_;  // jobs whose records expired after they had ended
};

}  // namespace lockstep::sim
