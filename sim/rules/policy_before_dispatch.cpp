// No job reaches a worker without an allow for exactly that request, as the scheduler that sends it has heard it itself; or a
// human's approval; or a fail-open recorded on it, where the mode is open and nobody answered.
//
// Judged as it is sent, since a packet may be garbled on its way; told when it arrives.
#include <map>
#include <memory>
#include <string_view>

#include "sim/rules/rules.h"
#include "sim/spec/policy_leave.h"

namespace lockstep::sim::rules {

namespace {

struct LastLeave {
    std::string_view fault;  // empty: it may go
    EventNumber earlier = 0;
};
using LastLeaves = std::map<fakes::JobNumber, LastLeave>;

std::string_view fault_of(const PolicyWord::Word& word) {
    if (word.other_content) return "policy has allowed it with other content";
    if (word.earlier_lock)
        return "its sender has heard an allow for it, and has taken its lock again since without asking";
    if (word.heard != 0) return "its sender has heard no allow for it, but another answer";
    return "its sender has heard no allow for it";
}

}  // namespace

void policy_before_dispatch(Rules& rules, const engine::Tunables& tunables) {
    const auto last = std::make_shared<LastLeaves>();
    rules.add([last, &tunables](const Sent& sent, const Model& model, Verdict&) {
        if (!sent.has_request) return;
        const bool may_go = sent.job->human.approval() || spec::leave_of(sent, model, tunables) != spec::Leave::none;
        (*last)[sent.job->number] = may_go ? LastLeave{} : LastLeave{fault_of(sent.word), sent.word.heard};
    });
    rules.add<Sent>([last](const Arrived& arrived, const Model& model, Verdict& verdict) {
        verdict.exercised();
        const auto sent = arrived.job == nullptr ? last->end() : last->find(arrived.job->number);
        const bool known = sent != last->end();
        verdict.require(known || model.packets_garbled(), 0, "it arrived on {}, and no scheduler has sent it",
                        arrived.subject);
        verdict.require(!known || sent->second.fault.empty(), known ? sent->second.earlier : 0,
                        "it arrived on {}, and {}", arrived.subject, known ? sent->second.fault : "");
    });
}

}  // namespace lockstep::sim::rules
