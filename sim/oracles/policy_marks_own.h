// policy_marks_own: the labels and variables by which policy and the scheduler tell a worker what was decided come from them
// alone. What a submitter has written under one of these names reaches neither policy nor a worker nor a recorded compensation (D-08).
//
// A value counts as the submitter's when it is one that a submission of the job carried, and neither policy's answers about
// the job nor the fail mode can have brought it about.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class PolicyMarksOwn final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::publish, fakes::EventKind::kernel_check, fakes::EventKind::output_check};
    PolicyMarksOwn(Judge& judge, const engine::Tunables& tunables)
        : Oracle(judge), may_fail_open_(tunables.policy_check_fail_mode == "open") {}
    [[nodiscard]] std::string_view invariant() const override { return "policy_marks_own"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;

private:
    using Mark = std::pair<std::string, std::string>;  // name and value
    struct Job {
        std::map<Mark, EventNumber> submitted;
        std::set<Mark> told;  // what policy's answers amount to
    };

    void note_submission(const cap::JobRequest& request, EventNumber event);
    void note_constraints(Job& job, const cap::PolicyConstraints& constraints);
    /// The first of these that is a submitter's own is told of. `what`: of what they stand on.
    template <class Map, class Names>
    void judge(const fakes::Event& event, const Map& map, const Names& names, std::string_view what);
    template <class Message>
    void judge_message(const fakes::Event& event, const Message& message, std::string_view what);
    void judge_value(const fakes::Event& event, const std::string& name, const std::string& value,
                     std::string_view what);
    [[nodiscard]] bool may_be_ours(const Job& job, const Mark& mark) const;

    std::map<std::string, Job, std::less<>> jobs_;
    bool may_fail_open_;
};

}  // namespace lockstep::sim
