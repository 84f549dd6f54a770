// Policy's word on a job, as the scheduler that sends it on has heard it: "no job without an allow for exactly that request
// (or a recorded fail-open)" (`lockstep list invariants`).
//
// 1. A word counts for one handling: it is heard by the replica that commits the dispatch, after it took the job's lock. What
//    was heard in an earlier handling, or by another replica, is nothing that this one knows. So a later refusal revokes an
//    earlier leave, and an answer that is overtaken by another handler's falls with its handler's lock. With one exception:
//    where an earlier handling of the same replica ended because the job's tenant was full, its word is good for
//    policy_answer_max_age, unless any replica has heard another word since and Redis has not lost it. A handling that has not asked, and whose lock is
//    taken away, leaves that word to the next.
// 2. It counts for what was asked about: the fields of a policy check, without what a scheduler adds on the way to a worker.
// 3. A fail-open needs a mode that is, or was at some time in the run, open, and a question that nobody answered: a label that
//    a submitter wrote is none.
// 4. A replica whose lock was taken away may have two handlers at one job. What was asked before the later one took the lock
//    is none of its questions, and an answer that comes while it has asked nothing is none of its answers. Beyond that their
//    answers cannot be told apart: then any of them may be the sender's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

enum class Leave : std::uint8_t { none, allowed, failed_open };

/// Whether policy asks for a human, be it by allowing a job on that condition (wire.md 8.1, step 4). `answer`: one to a
/// question about a job.
[[nodiscard]] bool asks_for_human(const fakes::Event& answer);

class PolicyWord {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::node_down, fakes::EventKind::kernel_check, fakes::EventKind::lock_acquired,
                          fakes::EventKind::lock_released, fakes::EventKind::state};
    explicit PolicyWord(const engine::Tunables& tunables);

    /// `present`: the number of this event.
    void on_event(const fakes::Event& event, EventNumber present, Time now);
    /// Of the keyspace: settings may open the fail mode.
    void string_set(std::string_view key, std::string_view after);
    /// A job that comes into its tenant's line has found its tenant full.
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member);
    /// Redis has lost data: a lock may have gone back to who had it before.
    void restored();

    struct Word {
        Leave leave = Leave::none;
        bool other_content = false;  // there was an allow, and for another request
        bool earlier_lock = false;   // there was one, and the lock was taken again since
        EventNumber heard = 0;       // the newest answer; 0 = there is none
    };
    /// What lets `node` send this request to a worker now.
    [[nodiscard]] Word on_sending(fakes::NodeId node, std::string_view job, const cap::JobRequest& request) const;

private:
    using Place = std::pair<fakes::NodeId, std::string>;  // node and job
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
        EventNumber heard = 0;
        EventNumber heard_before = 0;  // an allow, to an earlier handling of the same replica; 0 = there is none
        Time heard_at{};
        bool tenant_full = false;  // that is how it ended
        bool overtaken = false;    // another replica has heard another word since, and Redis knows
        bool carried = false;      // what it knows is an earlier handling's
    };

    void on_check(const fakes::Event& event, EventNumber present, Time now);
    void begin(Place place, Time now);
    [[nodiscard]] bool still_good(const Handling& earlier, Time now) const;
    [[nodiscard]] Handling& at(const fakes::Event& event);

    std::map<Place, Handling> handlings_;  // the latest of each
    std::map<Place, Handling> committed_;  // as it was when it committed a dispatch
    std::set<fakes::NodeId> askers_;       // who has ever asked about anything
    bool may_fail_open_;
    Duration answer_max_age_;
};

}  // namespace lockstep::sim
