// content_seen: no job is sent to a worker while policy, when its sender last asked about it, was not shown the input that the job
// points to, unless the job's hash says so (D-09; engine/delivery-semantics.md, "Whose word counts").
//
// 1. A job points to an input by a key of Redis; what lies elsewhere is never shown.
// 2. What counts is the latest question of the replica that sends. A rollback asks about the job that it is going to submit,
//    beside whoever handles it: of such a job any question counts that showed the input.
// 3. A human's approval asks nothing, and a recorded fail-open has had no answer: approval_bound and policy_before_dispatch
//    judge those. So does policy_before_dispatch a job about which its sender never asked.
// 4. A job whose input is not there is tried again three times, and no more.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ContentSeen final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::node_down, fakes::EventKind::kernel_check, fakes::EventKind::publish};
    explicit ContentSeen(Judge& judge) : Oracle(judge) {}
    [[nodiscard]] std::string_view invariant() const override { return "content_seen"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Question {
        bool showed = false;
        bool beside_a_rollback = false;
        EventNumber event = 0;
    };
    void on_question(const fakes::Event& event);
    void on_sending(const fakes::Event& event);

    std::map<std::pair<fakes::NodeId, std::string>, Question> questions_;  // by node and job, the latest
    std::set<std::string, std::less<>> marked_;                            // jobs that went on unseen
};

}  // namespace lockstep::sim
