// run_progress: a workflow run comes to its end, and by the rules (workflow.md 4 to 6), judged by its document as it is written:
//
// 1. When all is quiet it is over, or waits for a human. Where the scenario's duration ran out before, it may wait for a later time.
// 2. No step begins before what it depends on is satisfied, nor while as many of its siblings are at work as may be.
//    A parallel step is over as soon as its strategy is decided by its children, and not before.
//    Its condition, its max_retries and the end of its own job decide how it goes on.
// 3. What has ended stays as it is: no step that is over changes any more, no attempt is taken back, no step vanishes, and so no
//    result that was applied; nor does a run that is over change.
// 4. Each attempt has one job, `<run>:<step>@<attempt>`, which is submitted only once a commit says so, and under one request: what
//    stands in `lockstep:wf:outbox:<run>` for it is always the same.
//
// What gateways and operators write is where it goes on from, whatever it is, and requests may be made anew from there. Not judged
// is what Redis, or a NATS that lost its power, has lost, and a run whose keys were evicted; nor that a run waits for a job whose
// submission reached the stream as something else: NATS has acknowledged it, and takes another of that message id for the same.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "sim/oracles/oracle.h"
#include "sim/oracles/run_definitions.h"
#include "sim/oracles/run_steps.h"

namespace lockstep::sim {

class RunProgress final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::stored, fakes::EventKind::fault};

    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "run_progress"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Run {
        nlohmann::json document;
        EventNumber written = 0;
        bool excused = false;
    };

    void on_write(fakes::NodeId client, const std::string& name, const nlohmann::json& after);
    void judge_step(fakes::NodeId client, const std::string& name, const std::string& key, const Run& before,
                    const nlohmann::json& now);
    void judge_change(fakes::NodeId client, const std::string& name, const StepChange& change, EventNumber written);
    void judge_attempt(fakes::NodeId client, const std::string& name, const std::string& key, const nlohmann::json& was,
                       const nlohmann::json& now, EventNumber written);
    void on_submission(const fakes::Event& event);
    void forget_requests_of(const std::string& name);
    void excuse_all();
    /// The time that the step waits for.
    [[nodiscard]] bool is_to_come(const nlohmann::json& step) const;

    std::map<std::string, Run, std::less<>> runs_;
    RunDefinitions definitions_;
    std::set<std::string, std::less<>> committed_;  // jobs that a document has named
    std::set<std::string, std::less<>> garbled_;    // jobs whose submission the stream has as something else
    std::map<std::string, std::string, std::less<>> requests_;  // to be submitted, by job: bytes of packets
};

}  // namespace lockstep::sim
