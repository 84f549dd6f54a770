// policy_before_dispatch: no job reaches a worker without an allow for exactly that request, as the scheduler that sends it
// has heard it itself; or a human's approval; or a fail-open recorded on it, where the mode is open and nobody answered
// (policy_word.h).
//
// Judged as it is sent, since a packet may be garbled on its way; told when it arrives.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/operator_approvals.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/policy_word.h"

namespace lockstep::sim {

class PolicyBeforeDispatch final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        PolicyWord::kWanted | OperatorApprovals::kWanted |
        fakes::EventKinds{fakes::EventKind::fault, fakes::EventKind::publish, fakes::EventKind::core_deliver};
    PolicyBeforeDispatch(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), word_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "policy_before_dispatch"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Sending {
        std::string fault;  // empty: it may go
        EventNumber earlier = 0;
    };
    void on_sending(const fakes::Event& event);
    void on_arrival(const fakes::Event& event);

    PolicyWord word_;
    OperatorApprovals approvals_;
    std::map<std::string, Sending, std::less<>> sent_;  // by job, the latest
    bool garbled_ = false;                              // packets are, or were: a name may be nobody's
};

}  // namespace lockstep::sim
