// What an operator has approved, read off what the operator wrote: the request with the label of an approval, or the record
// beside it (wire.md 8.3). The human has decided by then: what is written next about it may come late, or never,
// and so may the answer. A label that a submitter wrote is none, nor is the record of a rejection, which looks the same.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class OperatorApprovals {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::approve};
    struct Approval {
        std::string content;  // of the request that was approved
        EventNumber event = 0;
    };

    void on_event(const fakes::Event& event);
    void string_set(fakes::NodeId client, std::string_view key, std::string_view after, EventNumber present);
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, EventNumber present);

    /// Null when there is none.
    [[nodiscard]] const Approval* find(std::string_view job) const;
    /// The content of a request without what a scheduler adds on its way to a worker.
    [[nodiscard]] static std::string content_of(cap::JobRequest request);

private:
    void note(const std::string& job, std::string_view request_json, EventNumber present);

    std::set<std::string, std::less<>> called_;                 // jobs that an operator was about to approve
    std::map<std::string, std::string, std::less<>> labelled_;  // job -> the stored request, once it says "approved"
    std::map<std::string, Approval, std::less<>> approved_;     // by job
};

}  // namespace lockstep::sim
