// An approval releases only the request whose hash was approved. A job about which policy last asked for a human, or which only says itself that
// it was approved, reaches a worker only after an operator has recorded an approval, and with the content that the operator
// saw; a gate is declared done only after one.
//
// Where the stored request is lost while a job waits for its human, an approval counts only once an operator has moved the job on, or
// has stored the request that was approved.
//
// Judged as it is sent, since a packet may be garbled on its way; told when it arrives.
#include <map>
#include <memory>
#include <string_view>

#include "sim/rules/rules.h"
#include "sim/spec/policy_leave.h"

namespace lockstep::sim::rules {

namespace {

constexpr std::string_view kUnapproved = "a human was to be asked, nobody approved, and it was let through";

struct Sending {
    std::string_view fault;  // empty: it may go
    EventNumber earlier = 0;
};
using SentLast = std::map<fakes::JobNumber, Sending>;

void gate_was_approved(const GatePassed& gate, const Model&, Verdict& verdict) {
    const HumanWord& human = gate.job->human;
    verdict.exercised();
    verdict.require(human.approval().has_value(), human.asked(), "{}", kUnapproved);
}

/// What was asked about is lost: whether anybody has approved it, only a whole approval tells.
void approval_is_whole(const ApprovalCounted& counted, const Model&, Verdict& verdict) {
    verdict.exercised();
    verdict.require(counted.waiting.stored_approved, counted.waiting.event,
                    "it counts as approved though its stored request is lost, and no operator has moved it on from its "
                    "question");
}

}  // namespace

void approval_bound(Rules& rules, const engine::Tunables& tunables) {
    const auto last = std::make_shared<SentLast>();
    rules.add(gate_was_approved);
    rules.add(approval_is_whole);
    rules.add([last, &tunables](const Sent& sent, const Model& model, Verdict& verdict) {
        if (!sent.has_request) return;
        const bool needed = spec::needs_approval(sent, model, tunables);
        verdict.exercised(needed);
        const HumanWord& human = sent.job->human;
        Sending& sending = (*last)[sent.job->number] = {};
        if (!needed || sent.is_approved) return;
        sending = human.approval()
                      ? Sending{"it was sent with other content than was approved", human.approval()->event}
                      : Sending{kUnapproved, human.asked()};
    });
    rules.add<Sent>([last](const Arrived& arrived, const Model&, Verdict& verdict) {
        const auto sent = arrived.job == nullptr ? last->end() : last->find(arrived.job->number);
        if (sent == last->end()) return;
        verdict.require(sent->second.fault.empty(), sent->second.earlier, "it arrived on {}: {}", arrived.subject,
                        sent->second.fault);
    });
}

}  // namespace lockstep::sim::rules
