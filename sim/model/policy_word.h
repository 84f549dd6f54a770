// What input policy said about one job, by the replica that heard it. Part of the model of one job.
//
// 1. A word counts for one handling: it is heard by the replica that commits the dispatch, after it took the job's lock. So a later
//    refusal revokes an earlier allow, and an answer that is overtaken by another handler's falls with its handler's lock. One
//    exception: where an earlier handling of the same replica ended because the job has to wait for a slot, be its lock lost before it could give it
//    back, its word is good for policy_answer_max_age, unless any replica has asked and heard another word since and Redis has not lost it. A handling that did not ask, and whose lock
//    is taken away, leaves that word to the next.
// 2. It counts for what was asked about: the fields of a policy check, without what a scheduler adds on the way to a worker.
// 3. A replica whose lock was taken away may have two handlers at one job. What was asked before the later one took the lock
//    is none of its questions, and an answer that comes while it has asked nothing is none of its answers. Beyond that their
//    answers cannot be told apart: then any of them may be the sender's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// What an answer about a job comes to.
enum class PolicySays : std::uint8_t {
    no,
    allow,
    ask_human,  // be it by allowing the job on that condition (wire.md 7.1)
};
/// `response`: what the answer consists of; null: it cannot be read.
[[nodiscard]] PolicySays said_by(const fakes::Event& answer, const cap::PolicyCheckResponse* response);

class PolicyWord {
public:
    /// `good_for`: how long an answer is good after a wait for a slot, by the clock of the replica.
    void lock_taken(fakes::NodeId node, Time now, engine::Duration good_for);
    void lock_returned(fakes::NodeId node) { at(node).now.over = true; }
    void asked(fakes::NodeId node, cap::PolicyCheckRequest question, EventNumber event);
    /// `answer` has come back: with an outcome, good or bad.
    void answered(const fakes::Event& answer, bool allows, Since since);
    void dispatched(fakes::NodeId node);
    /// The replica found no slot for the job.
    void queued(fakes::NodeId node);
    void node_down(fakes::NodeId node);
    /// Of Redis: a lock may have gone back to who had it before.
    void data_lost();

    struct Word {
        bool allows = false;         // exactly this request
        bool other_content = false;  // there was an allow, and for another request
        bool earlier_lock = false;   // there was one, and the lock was taken again since
        bool unanswered = false;     // no answer to a question
        EventNumber heard = 0;       // the newest answer; 0: there is none
    };
    /// On this request, for a replica that sends it now.
    [[nodiscard]] Word on_sending(fakes::NodeId node, const cap::JobRequest& request) const;

    struct Question {
        EventNumber event = 0;  // 0: there was none
        bool showed_input = false;
        bool beside_rollback = false;  // about a job that a rollback is going to submit
    };
    /// The latest of the replica. A question beside a rollback counts as showing what any before it did.
    [[nodiscard]] Question question_of(fakes::NodeId node) const;

private:
    /// From taking a job's lock to giving it back.
    struct Handling {
        std::set<std::string> asked;  // about which content
        int open = 0;                 // questions since it began without an answer, good or bad
        int others_open = 0;          // those of handlings before it
        bool answered = false;
        bool last_allows = false;
        bool any_allows = false;
        bool shared = false;  // another handler of the node may be at the job
        bool over = false;
        bool may_go_on = false;  // data was lost: its lock may come back
        Since heard;
        EventNumber heard_before = 0;  // an allow, to an earlier handling of the same replica; 0: there is none
        bool queued = false;           // that is how it ended
        bool overtaken = false;        // another replica has heard another word since, and Redis knows
        bool carried = false;          // what it knows is an earlier handling's

        [[nodiscard]] bool is_good(Time now, engine::Duration good_for) const;
    };
    struct AtReplica {
        fakes::NodeId node;
        Handling now;
        std::optional<Handling> committed;  // as it was when it committed a dispatch
        Question question;
    };
    /// One that begins without a lock may share the job.
    AtReplica& at(fakes::NodeId node);
    [[nodiscard]] const AtReplica* find(fakes::NodeId node) const;

    std::vector<AtReplica> replicas_;
};

}  // namespace lockstep::sim
