// Whether a human was asked about one job, and what an operator has approved. Part of the model of one job.
//
// 1. An approval is read off what the operator wrote: the request with the label of an approval, or the record beside it (wire.md 8.3).
//    The human has decided by then: what is written next about it may come late, or never, and so may the answer. A label that a
//    submitter wrote is none, nor is the record of a rejection, which looks the same.
// 2. Where the stored request is lost while a job waits for its human, an approval counts only once an operator has moved the job on, or
//    has stored the request that was approved.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/policy_word.h"
#include "sim/model/state.h"

namespace lockstep::sim {

class HumanWord {
public:
    /// A job in APPROVAL_REQUIRED.
    struct Waiting {
        bool request_lost = false;     // since the question
        bool stored_approved = false;  // by the operator, since it was lost
        EventNumber event = 0;         // when it was lost
    };
    struct Approval {
        std::string content;  // of the request that was approved
        EventNumber event = 0;
    };

    /// An operator is about to approve the job.
    void called() { called_ = true; }
    void request_stored(fakes::NodeId client, std::string_view json, EventNumber event);
    void request_lost(EventNumber event);
    /// The operator wrote the record of an approval.
    void recorded(EventNumber event) { note(event); }
    void entered(fakes::NodeId client, State state);
    void policy_answered(PolicySays said, EventNumber event);
    /// Policy asks for a human anew, about the request as it is stored now.
    void asked_anew();
    /// A scheduler has recorded an answer of policy that is no question.
    void answered_otherwise();
    void hash_lost() { waiting_.reset(); }
    /// `state`: what Redis has kept of it.
    void data_lost(State state);

    /// When policy asked for a human last; 0: it did not, or has allowed the job since.
    [[nodiscard]] EventNumber asked() const { return asked_; }
    /// The job was in APPROVAL_REQUIRED, and Redis knows, and of no other answer of policy since.
    [[nodiscard]] bool is_question_recorded() const { return question_recorded_; }
    [[nodiscard]] const std::optional<Waiting>& waiting() const { return waiting_; }
    [[nodiscard]] const std::optional<Approval>& approval() const { return approval_; }
    /// REQUIRES: there is an approval.
    [[nodiscard]] bool approved(const cap::JobRequest& request) const;

private:
    bool note(EventNumber event);

    bool called_ = false;
    std::string labelled_;  // the stored request, once it says "approved"
    std::optional<Approval> approval_;
    EventNumber asked_ = 0;
    bool question_recorded_ = false;
    std::optional<Waiting> waiting_;
};

}  // namespace lockstep::sim
