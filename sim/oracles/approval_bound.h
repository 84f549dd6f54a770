// approval_bound: an approval releases only the request whose hash was approved. A job about which policy last asked for a
// human, or which only says itself that it was approved, reaches a worker only after an operator has recorded an approval,
// and with the content that the operator saw; a gate is declared done only after one.
//
// Where the stored request is lost while a job waits for its human, an approval counts only once an operator has moved the job on, or
// has stored the request that was approved.
//
// Judged as it is sent, since a packet may be garbled on its way; told when it arrives.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/operator_approvals.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/policy_word.h"

namespace lockstep::sim {

class ApprovalBound final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        PolicyWord::kWanted | OperatorApprovals::kWanted |
        fakes::EventKinds{fakes::EventKind::kernel_check, fakes::EventKind::publish, fakes::EventKind::core_deliver};
    ApprovalBound(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), word_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "approval_bound"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    /// A job that waits for a human.
    struct Waiting {
        bool request_lost = false;     // since the question
        bool stored_approved = false;  // by the operator, since it was lost
        EventNumber event = 0;
    };
    void on_state(fakes::NodeId client, std::string_view job, std::string_view state);
    void on_grant(fakes::NodeId client, std::string_view job);
    struct Fault {
        std::string_view what;  // empty: it may go
        EventNumber earlier = 0;
    };
    [[nodiscard]] Fault judged(const fakes::Event& sending);
    [[nodiscard]] bool needs_approval(const fakes::Event& sending) const;
    void on_gate(const fakes::Event& event);
    [[nodiscard]] Fault unapproved(std::string_view job) const;

    PolicyWord word_;
    OperatorApprovals approvals_;
    std::map<std::string, EventNumber, std::less<>> waits_for_human_;  // since when
    std::set<std::string, std::less<>> question_recorded_;             // it waited for a human once, by its state
    std::map<std::string, Waiting, std::less<>> waiting_;
    std::map<std::string, Fault, std::less<>> sent_;  // by job, the latest
};

}  // namespace lockstep::sim
