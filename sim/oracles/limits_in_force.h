// limits_in_force: the limits of a job are the strictest of those that its request, policy and the settings set, and what is
// sent, stored and tried keeps them (wire.md 7.3 and 8, step 9; settings.md 3; C-24, C-41, H-20; engine/delivery-semantics.md,
// "To a submitter").
//
// 1. What goes to a worker carries the constraints of an answer of policy about the job, as a whole and one by one, and a deadline
//    that is the smaller one of the request's and of the run time that policy allows. Without an answer it carries none. Where a
//    human has released it, the answer is the question that the human was asked (wire.md 8.1, step 1).
// 2. A job's deadline is never put off. It counts from a take-up (the request's, and what its workflow may last) or from when the
//    job was routed (the run time that policy allows), and a job that is sent has the strictest of them.
// 3. A job is dispatched no more often than once and as often again as the least of policy, its topic and its workflow allows;
//    what is ended for that has been dispatched more often.
// 4. A job waits for a slot of its tenant by a limit that policy has given.
// 5. A job times out of DISPATCHED no sooner than by the limits that its replica may have gone by since it was dispatched: those of
//    its topic, else those of the reconciler, and where the settings say nothing of these, those that it started with: what an
//    earlier document said holds nobody any more (settings.md 3; D-10).
// 6. Where the settings are those of another file, whoever starts with one writes its limits there before it takes up a job
//    (settings.md 3), unless it could not, or somebody else has written meanwhile.
// 7. Of several answers that may be the one that counted, any will do, and so will any settings that its replica may have gone by
//    since it took the job up (settings.md 5), also before it went down. Deadlines are told by the clock of Redis: once a clock
//    was set nobody compares them any more, nor those of a job of which Redis has lost something.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/settings_in_force.h"

namespace lockstep::sim {

class LimitsInForce final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        SettingsInForce::kWanted |
        fakes::EventKinds{fakes::EventKind::kernel_check, fakes::EventKind::publish, fakes::EventKind::fault,
                          fakes::EventKind::read_back,    fakes::EventKind::deliver, fakes::EventKind::node_down,
                          fakes::EventKind::paused,       fakes::EventKind::redis,   fakes::EventKind::lock_acquired};
    /// `timeouts`: the document that the schedulers start with, in JSON; may be empty.
    LimitsInForce(Judge& judge, const engine::Tunables& tunables, std::string_view timeouts);
    [[nodiscard]] std::string_view invariant() const override { return "limits_in_force"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    /// What one answer of policy allows. Zero: it says nothing.
    struct Answer {
        bool constrained = false;
        std::string constraints;  // as bytes that equal messages share
        std::string redaction_level;
        std::int64_t runtime_ms = 0;
        std::int64_t artifact_bytes = 0;
        std::int64_t concurrent = 0;
        std::int64_t retries = 0;
        friend bool operator==(const Answer&, const Answer&) = default;
    };
    struct Job {
        std::string topic, workflow;
        std::int64_t asked_ms = 0;  // the deadline of its stored request
        bool request_known = false;
        std::vector<Answer> answers;  // of policy, each different one
        std::int64_t deadline = 0;    // microseconds of the clock of Redis; 0: none
        std::int64_t taken_up = 0;    // by the same clock, the latest time
        Time taken_up_at{};
        bool sent_out = false;            // by the present command
        bool asked = false;               // policy, since it was taken up
        bool unanswered = false;          // it is recorded that policy has given no answer
        bool deadline_of_others = false;  // by clocks of their own
        bool unsure = false;              // Redis has lost something of it, or its request was replaced
        std::vector<Answer> questions;    // those of the answers that ask for a human, each different one
        bool released = false;            // by a human, as is recorded
        std::int64_t moved_at = 0;        // as Redis dates its state; 0: nobody knows
        Time moved_seen{};
        bool times_out = false;         // by the present command, from DISPATCHED
        bool timeout_reported = false;  // by somebody who may be its worker
        std::int64_t dispatches = 0;
        std::int64_t dispatches_before = 0;  // when it was taken up
    };

    void note_request(Job& job, std::string_view json);
    void note_answer(const fakes::Event& event);
    void judge_introduced(fakes::NodeId client, const std::string* before, const TimeLimits& written);
    void note_take_up(std::string_view job, std::int64_t expires_at);
    void note_start(const fakes::Event& event);
    void on_waits(fakes::NodeId client, std::string_view name, const Job& job, std::int64_t limit);
    [[nodiscard]] bool may_fail_open(fakes::NodeId replica, const Job& job) const;
    void on_moved(fakes::NodeId client, std::string_view name, Job& job, std::int64_t at);
    /// The shortest stay in DISPATCHED that the replica may have gone by.
    [[nodiscard]] std::int64_t shortest_dispatch_ms(fakes::NodeId replica, const Job& job, Time from) const;
    void on_sending(const fakes::Event& event);
    void on_deadline(fakes::NodeId client, std::string_view name, Job& job, std::int64_t deadline);
    void on_dispatched(fakes::NodeId client, std::string_view name, const Job& job, std::int64_t at);
    void on_dispatches(fakes::NodeId client, std::string_view name, Job& job, std::int64_t dispatches);
    void on_letter(fakes::NodeId client, std::string_view name, std::string_view text);
    /// What is wrong with the request that is sent, by one answer; empty: nothing.
    [[nodiscard]] std::string wrong(const cap::JobRequest& sent, const Job& job, const Answer& answer) const;
    struct Retries {
        std::int64_t least = 0;  // 0: nothing limits them
        std::int64_t most = 0;   // 0: it may be that nothing limits them
    };
    [[nodiscard]] Retries retries_of(fakes::NodeId replica, const Job& job) const;
    /// How long a run of its workflow may last, by all that the replica may go by, in milliseconds.
    [[nodiscard]] std::vector<std::int64_t> lives_of(fakes::NodeId replica, const Job& job) const;
    /// What it may have gone by since then.
    [[nodiscard]] std::vector<TimeLimits> in_force(fakes::NodeId replica, Time from) const;
    [[nodiscard]] Job& at(std::string_view job);

    const engine::Tunables& tunables_;
    TimeLimits of_the_file_;
    SettingsInForce settings_;
    const bool has_file_;
    std::string settings_text_;
    std::set<fakes::NodeId> started_;            // who has read the settings since it came up
    std::map<fakes::NodeId, EventNumber> owes_;  // who has found the limits of another file in them
    std::map<std::string, Job, std::less<>> jobs_;
    const Time& now_ = told_at();
    bool clocks_jumped_ = false;
};

}  // namespace lockstep::sim
