// approval_bound: an approval releases only the request whose hash was approved. A job about which policy last asked for a
// human, or which only says itself that it was approved, reaches a worker only after an operator has recorded an approval,
// and with the content that the operator saw; a gate is declared done only after one.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ApprovalBound final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "approval_bound"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;

private:
    void note_approval(const std::string& job, std::string_view request_json);
    void on_release(const fakes::Event& event, bool to_worker);

    std::map<std::string, EventNumber, std::less<>> waits_for_human_;  // since when
    std::set<std::string, std::less<>> question_recorded_;             // it waited for a human once, by its state
    std::set<std::string, std::less<>> allowed_;                       // by policy, at some time
    std::map<std::string, std::string, std::less<>> labelled_;  // job -> the stored request, once it says "approved"
    std::map<std::string, std::string, std::less<>> approved_;  // job -> the content that an operator approved
    std::map<std::string, EventNumber, std::less<>> approved_at_;
};

}  // namespace lockstep::sim
