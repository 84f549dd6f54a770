// questions_true: what input policy and output policy are asked about a job says what its stored request says, and what the settings
// say (wire.md 7.1, 7.2 and 8, step 7; engine/delivery-semantics.md, "Whose word counts").
//
// 1. Topic, tenant, priority, principal, memory, budget, labels and metadata are those of a request that has been stored under the
//    job's id, but for the labels that only policy and approvals write (policy_marks_own, approval_bound).
// 2. Input policy is shown the settings of the job: the documents of its layers as they stood when the replica took the job's lock
//    for this try, of which those that its submitter names can only tighten. Of several locks that it has not given back the oldest
//    counts: a handler that was frozen asks late. Of a document that cannot be read the replica's last good
//    copy counts, which is none from before its last look at the document for sure. After a change nothing is judged.
// 3. Output policy is told the size of the whole output, however much of it it is shown.
// A rollback asks about a job that it is going to submit: of such a question nothing is stored yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class QuestionsTrue final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::lock_acquired, fakes::EventKind::lock_released, fakes::EventKind::node_down,
                          fakes::EventKind::kernel_check, fakes::EventKind::output_check};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "questions_true"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Stored {
        std::string json;  // as it was stored last
        EventNumber event = 0;
        std::vector<std::pair<std::string, std::string>>
            known;  // what the two questions about each content say, the latest last
    };
    /// What output policy may be told of an output.
    struct Sizes {
        std::int64_t now = 0;
        std::int64_t before = 0;
    };

    struct Version {
        EventNumber since = 0;
        std::string text;  // empty: the document is deleted
    };

    void on_input_question(const fakes::Event& event);
    void on_output_question(const fakes::Event& event);
    void judge_settings(const fakes::Event& event, const std::string& told);
    void strike_lock(const std::pair<fakes::NodeId, std::string>& of, std::string_view token);
    [[nodiscard]] std::optional<EventNumber> taken_up_by_asker(const std::pair<fakes::NodeId, std::string>& asker);
    [[nodiscard]] std::vector<nlohmann::json> contents_for(fakes::NodeId replica, const std::string& key) const;
    void note_request(std::string_view job, std::string_view json);
    void note_document(std::string_view key, std::string_view text);

    std::map<std::string, Stored, std::less<>> requests_;                // by job
    std::map<std::string, std::string, std::less<>> documents_;          // settings, by key
    std::map<std::string, std::vector<Version>, std::less<>> versions_;  // of each, oldest first
    std::map<std::pair<fakes::NodeId, std::string>, EventNumber> read_;  // by replica and key: the last time for sure
    EventNumber changed_ = 0;                                            // the last change of any of them
    struct TakenLock {
        std::string token;
        EventNumber event = 0;
    };
    std::map<std::pair<fakes::NodeId, std::string>, std::vector<TakenLock>>
        locks_;  // by replica and job: those that it has not given back, oldest first
    std::map<std::string, Sizes, std::less<>> outputs_;  // by key
};

}  // namespace lockstep::sim
