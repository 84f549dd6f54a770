// A visit to a run: takes its lock, reads it, decides what becomes of it, commits that, and sends what is to be sent. Whatever
// happens to a run happens in a visit: the end of a job, a timer, what somebody asks, a look by the reconciler.
//
// 1. Lock, read, decide and commit are one span of one holder (`run_exclusion`): the lock is released by the commit, or after it.
// 2. What is sent stands in the run's outbox from the commit on, until a server has taken it. Whoever visits next sends what is
//    left, under the same ids, which scheduler and stream know again (H-26).
// 3. A visit does a bounded amount of work, by counts: steps begun, ends taken into account, bytes of results and of other runs read at
//    a time. When more is left, or its lock would not last, it commits what it has and gives way; another one goes on from there.
//    Submissions of a run that has many are sent as the schedulers have room for them, and the runs of an organisation by turns.
// 4. A visit that could not be made says so, and is made again by the caller that came with something (H-27, C-25).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/announce/dead_letters.h"
#include "engine/config/context.h"
#include "engine/runs/pass.h"
#include "engine/runtime/scope.h"
#include "engine/store/dead_letter_store.h"
#include "engine/store/lease.h"
#include "engine/workflow/local_turns.h"
#include "engine/workflow/run_store.h"

namespace lockstep::engine {

enum class Visited : std::uint8_t {
    done,
    absent,       // there is no such run
    busy,         // somebody else has its lock: to be tried again after a while (C-25)
    unreachable,  // Redis gave no answer, or one that leaves things open: to be tried again
    overtaken,    // somebody else has changed the run meanwhile, or has its lock
};

/// Hears when a run is due by itself next, after each visit.
class DueListener {
public:
    virtual ~DueListener() = default;
    /// `in`: from now on; nothing where nothing is due.
    virtual void on_due(const std::string& run, std::optional<Duration> in) = 0;
};

class RunVisits {
public:
    /// All arguments outlive the visits.
    RunVisits(const Context& context, RunStore& store, Leases& leases, DeadLetterStore& letters,
              DeadLetters& dead_letters);

    void set_due_listener(DueListener& listener) { due_ = &listener; }

    /// Visits the run, and takes the ends of `jobs` into account. REQUIRES: a run id that is not empty.
    [[nodiscard]] Task<Visited> visit(std::string run, std::vector<std::string> jobs);
    /// The same in the background, after a while, and again until it is done. A run that is being visited so already is visited
    /// once more.
    void visit_later(std::string run, Duration after = {});
    /// Stops what goes on in the background.
    void stop();
    /// Visits in the background.
    [[nodiscard]] std::size_t in_progress() const { return later_.size(); }

private:
    /// Under the local turn. `dealt_with` takes how many of `jobs`, from the front, the visit has taken into account, at least one
    /// where there are any; it outlives the call.
    [[nodiscard]] Task<Visited> visit_some(std::string run, std::vector<std::string> jobs, std::size_t& dealt_with);
    /// The same once, with or without the lock.
    [[nodiscard]] Task<Visited> visit_once(std::string run, std::vector<std::string> jobs, bool locked,
                                           std::size_t& dealt_with);
    [[nodiscard]] Task<Outcome<TakenRun>> take(std::string run, Lease& lease, std::vector<std::string> jobs);
    /// Alone in the process, or the run is set aside, where earlier visits to it have not come back. The first two outlive the call.
    [[nodiscard]] Task<Visited> start(Lease& lease, Room::Place& place, TakenRun taken, std::string run);
    [[nodiscard]] Task<Visited> under_lock(Lease& lease, TakenRun taken, std::string run);
    /// What becomes of the run. Nothing: more would have to be known, and could not be read. `lease` and `taken` outlive the call.
    /// No step begins with a job of `taken_ids`.
    [[nodiscard]] Task<std::optional<RunChange>> decide(const Lease& lease, const TakenRun& taken, std::string run,
                                                        std::set<std::string> taken_ids);
    [[nodiscard]] RunChange change_of(const TakenRun& taken, RunDocument document, const WorkflowDefinition* workflow,
                                      const std::string& problem, const ChildRunStates& children,
                                      const RunLimits& limits) const;
    [[nodiscard]] Task<Outcome<ChildRunStates>> look_at_children(const WorkflowDefinition& workflow, RunDocument& run);
    void fill_outbox(RunChange& change) const;
    /// Sends it, jobs first, and strikes off what was sent; what could not be sent is left to a later visit.
    /// `most`: of the submissions.
    [[nodiscard]] Task<void> send(std::string run, std::string org, std::vector<Outgoing> outbox, std::size_t most);
    /// How many submissions may be added to the backlog of the schedulers. Waits for a second at most until it is worth while; as many as
    /// the backlog may have where NATS does not tell.
    [[nodiscard]] Task<std::size_t> room_for_submissions();
    /// Sends more of what is left of the run, once there is room. That takes no visit: its document may be large.
    [[nodiscard]] Task<void> go_on(std::string run, std::string org);
    /// Side by side. `sent` takes the ids of what was sent; both outlive the call.
    [[nodiscard]] Task<void> send_all(std::span<const Outgoing> outbox, std::vector<std::string>& sent);
    /// Both outlive the call.
    [[nodiscard]] Task<void> send_one(const Outgoing& outgoing, std::vector<std::string>& sent);
    [[nodiscard]] Task<void> visit_until_done(std::string run, Duration after);

    const Context& context_;
    RunStore& store_;
    Leases& leases_;
    DeadLetterStore& letters_;
    DeadLetters& dead_letters_;
    LocalTurns turns_;
    DueListener* due_ = nullptr;
    struct Again {
        bool wanted = false;
        Duration after{};
    };
    std::map<std::string, Again> later_runs_;  // visited in the background, and whether once more after that
    LocalTurns orgs_;                          // whose runs go on sending
    std::set<std::string> going_on_;           // runs that wait for that
    Scope later_;                              // last: its tasks use everything above
};

/// What somebody asks of a run, as it is kept: `{"do": "cancel", "reason": ...}`, `{"do": "retry", "by": ...}`, or
/// `{"do": "approve", "step": ..., "approved": true, "by": ...}`.
void apply_ask(RunPass& pass, std::string_view text);

}  // namespace lockstep::engine
