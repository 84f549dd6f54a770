// no_lost_job: every valid submission that JetStream acknowledged is, when all is quiet, terminal or waiting for an
// approval. One whose packet was garbled on its way to the stream is valid no more, when nobody could read it as this
// job's or it fails the checks on packets (engine/wire/validation.h). Nor is one whose records Redis has lost, or that only a
// NATS knew that lost its power, or whose leader changed before any tick had noted who leads (engine/delivery-semantics.md).
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
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    /// What nobody but NATS knows of.
    [[nodiscard]] bool forgets(const fakes::Event& fault) const;
    std::map<std::string, EventNumber, std::less<>> acknowledged_;  // job -> when
    void on_stored(const fakes::Event& event);

    const LostRecords& lost_ = jobs().lost();
    std::set<std::string, std::less<>> only_stored_;  // jobs that the stream has and Redis has never had
    std::set<std::string, std::less<>> recorded_;     // jobs that Redis has had
    std::set<std::string, std::less<>> cut_off_;      // those that only the stream had when NATS forgot
    bool leader_noted_ = false;                       // of the durable of submissions
    std::set<std::string, std::less<>> garbled_;
    std::set<std::string, std::less<>> outlived_;  // jobs whose records expired after they had ended
};

}  // namespace lockstep::sim
