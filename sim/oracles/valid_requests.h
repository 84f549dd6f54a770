// valid_requests: a request that the rules reject never runs, and a valid one is never dropped (wire.md 6.2; D-06).
//
// 1. What no sound submission has brought, and nobody but a scheduler has stored, leaves no stored request and is sent to nobody.
//    Requests that others have stored bypass these rules, as documented, but for the tenant's (tenant_walls).
// 2. A sound submission is acknowledged only after somebody has looked at its job since it was first delivered.
// 3. A job ends with the dead letter `invalid_request` only when its stored request names two tenants.
// 4. What a worker is sent is a request that has been stored under the job's id, but for what policy and approvals mark in it. The
//    first that is stored counts; another stands there only where Redis has lost one, or somebody else has replaced it.
// 5. What counts is what a replica was delivered: what was garbled on its way is taken for what it says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ValidRequests final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::deliver, fakes::EventKind::ack, fakes::EventKind::redis,
                          fakes::EventKind::publish, fakes::EventKind::node_down};
    ValidRequests(Judge& judge, const engine::Tunables& tunables)
        : Oracle(judge), prefixes_(tunables.pointer_prefixes) {}
    [[nodiscard]] std::string_view invariant() const override { return "valid_requests"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& value, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Job {
        bool sound = false;                 // a sound submission names it, or somebody else has stored it
        bool is_invalid = false;            // the rules reject its stored request
        EventNumber rejected = 0;           // the last delivery of a submission that is to be dropped
        EventNumber looked_at = 0;          // by a replica, the last time
        std::string why;                    // it is to be dropped
        std::string tenant;                 // of its stored request
        std::string points_to;              // the key of Redis that this leads to; empty: none
        EventNumber stored = 0;             // for the first time
        std::vector<std::string> contents;  // all that has been stored, without marks, the latest last
    };
    struct Delivered {
        std::string job;
        bool sound = false;
        bool borderline = false;  // it says something that a rule is about
    };
    /// Number in the stream, and job: a server that has lost what it had not written yet gives the same numbers once more.
    using Stored = std::pair<std::uint64_t, std::string>;
    using Receipt = std::pair<fakes::NodeId, Stored>;  // by the replica that has it in hand

    [[nodiscard]] static Receipt receipt_of(const fakes::Event& event) {
        return {event.node, {event.sequence, std::string(event.job)}};
    }
    void on_delivery(const fakes::Event& event);
    void on_ack(const fakes::Event& event);
    void must_be_sound(fakes::NodeId node, std::string_view job, std::string_view what);
    void must_be_stored(const fakes::Event& event);
    /// Its input would be data that is not its tenant's to have (D-30). `since_it_was_stored`: that of a job which was recorded while
    /// this was being looked at may have been without an owner then, and is not counted.
    [[nodiscard]] bool points_beyond(std::string_view name, const Job& job, bool since_it_was_stored) const;
    void note_stored(fakes::NodeId client, std::string_view job, std::string_view json);

    const std::string prefixes_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::map<Stored, EventNumber> first_delivered_;
    std::map<Receipt, Delivered> in_hand_;
};

}  // namespace lockstep::sim
