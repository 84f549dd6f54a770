// The job store: what the handlers ask of Redis, in the domain's words (redis-schema.md 2 to 5). Each call is
// one round trip. Every commit of a lock holder is fenced by its lease; the calls that take no lock compare instead.
//
// A call that is *unknown* may have taken effect; a caller hands the message back or reads again, never assumes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "engine/ports/redis.h"
#include "engine/runtime/identifiers.h"
#include "engine/saga/effect.h"
#include "engine/store/dead_letter.h"
#include "engine/store/job_lease.h"
#include "engine/store/job_state.h"
#include "engine/store/lost_handlings.h"
#include "engine/store/scripts.h"
#include "engine/store/store_news.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// Whether a job waits for one of its tenant's slots. Woken: there is one in reserve for it.
enum class PlaceInLine : std::uint8_t { none, waiting, woken };

/// Set in the job hash when the request of a job that was known already was not there any more, and the one that somebody
/// offered took its place: whatever that says about itself, nobody can compare it with what was there before.
inline constexpr const char* kFieldRequestLost = "ls_request_lost";

/// Where a result stands among those about its job.
struct ResultTurn {
    StreamSequence sequence;  // 0: nobody knows, and it waits for none
    Duration wait{};          // at most, after an earlier one was noted
    WorkerId worker;          // who reports; empty: anybody's word counts
};

/// What Redis knew about a job at one instant.
struct JobFacts {
    std::optional<JobState> state;  // before the call; nothing = the job was not known
    std::int64_t attempts = 0;
    std::string topic;
    std::string tenant;
    std::string trace_id;
    // The latest dispatch, see engine/scheduler/dispatch.h.
    DispatchNumber dispatch;
    bool published = false;
    WorkerId worker;
    StreamSequence stream_floor;            // no message of that dispatch is at or below this stream sequence,
    std::string stream_server;              // as this server process numbers them; empty = nobody knows which
    std::uint64_t dispatches = 0;           // take_up: how many there have been
    Duration due_in{};                      // take_up: until its next try; 0 = now
    std::string last_cause;                 // take_up: why its last try came to nothing
    std::int64_t input_misses = 0;          // take_up: how often in a row its input was not found
    std::int64_t policy_timeouts = 0;       // take_up: how often in a row judging it has taken too long
    LostHandlings lost;                     // of its handlings, unless it has ended
    bool request_lost = false;              // take_up: see kFieldRequestLost
    bool first_received = false;            // take_up: no scheduler has handled it before
    bool human_asked = false;               // take_up: a human was asked, and policy has answered nothing else since
    WallTime entered_at{};                  // take_up: when it came into its state, by Redis' clock
    PlaceInLine place = PlaceInLine::none;  // take_up
    WorkerId handed;                        // take_up: the worker that keeps a slot free for it; empty: none does
    std::string queue;                      // take_up: in which it waits for capacity; empty: it does not
    Duration waited{};                      // take_up: for how long it has waited, in line or for capacity
    Duration unserved{};                    // take_up: for how long no live worker has fitted that queue
    Token placed_by;                        // take_up: the token of the handling that had it stand in line last
    // take_up: the request that was stored earlier, where it differs from the offered one; take_lock: what is stored
    std::string stored_request;
    std::vector<std::string> read_along;  // the strings asked for; take_up: none for a job that is at work or over
    std::optional<WallTime> deadline;     // take_up: the job's, by Redis' clock
    WallTime taken_up{};                  // take_up: when that was, by Redis' clock
    // take_up with a request of another tenant than the job's, or of two: nothing of it was recorded, and what is stored is all
    // that there is to the job.
    bool foreign_request = false;
    std::string_view refused;  // why this request may touch no job, and the lock is not held; empty: it may
    bool handled_before =
        false;  // the message that was to be handled has been: nothing was read, and the lock is not held
};

/// A success whose output is still to be scanned: found by whoever looks, until a commit ends the scan.
struct ScanMark {
    std::string result_json;  // the result as it was reported
    Duration hold{};          // how long nobody else looks at it
};

/// The worker that a dispatch goes to, as the registry knows it. The commit takes one of its slots, or is refused.
struct SlotClaim {
    WorkerId worker;
    std::optional<std::int64_t> slots;  // jobs that it may have in flight; nothing = any number
    std::int64_t active = 0;            // jobs that it reported last,
    Duration age{};                     // so long ago
    std::string queue;  // whose jobs go first, unless this one was called out of a queue; empty: none do
};

/// The writes of one step, applied together under the fence.
struct Commit {
    std::vector<JobState> walk;   // states to go through; empty = no change of state
    bool from_any_state = false;  // no source is wrong; only ever without Mechanism::terminal_idempotency
    std::optional<DispatchNumber> expected_dispatch;
    int add_attempts = 0;
    std::int64_t deadline_ms = 0;           // from now, 0 = none; an earlier one that the job has stays
    std::optional<WallTime> deadline_from;  // when that begins instead, by Redis' clock; with a deadline only
    bool begin_dispatch = false;
    bool release_lock = false;
    bool settles_message =
        false;  // with `release_lock`: nothing is left to do about the lease's message, it is marked as handled
    std::optional<DeadLetter> dead_letter;
    std::string result_ptr;
    WorkerId worker_id;
    std::string decision_json;
    std::optional<SagaEffect> saga;  // what the end of the job means for its saga
    std::string output_record;       // the verdict on the output
    std::optional<ScanMark> begin_scan;
    bool end_scan = false;     // without a change of state it is refused when the scan has ended before,
    std::string replaces_ptr;  // unless the success still points to this, which `result_ptr` is to replace
    std::optional<Duration>
        next_attempt;               // from now; what looks for jobs that nobody handles leaves it alone until then
    std::int64_t tenant_limit = 0;  // refused while so many other jobs of the tenant are on their way; 0 = none
    std::optional<SlotClaim> slot;  // with `begin_dispatch`
    // Without a change of state: the job waits for capacity in this queue, until it is woken; or where there are too many queues, for
    // `next_attempt`.
    std::string queue;
    std::string
        fitting;  // with `queue`: workers that might have had it, each with how many jobs it may have: "w 8 v 4"
    bool stand_in_line = false;  // who is refused for that waits until it is woken, unless it holds a slot already
    std::vector<std::pair<std::string, std::string>> fields;  // of the job hash; an empty value deletes
};

struct Committed {
    enum class Kind : std::uint8_t {
        ok,
        /// The lease is not ours any more: nothing was written.
        lost,
        /// The job is not in a state that allows it, or its tenant is full: none of the commit's writes was made. The lock is
        /// released all the same where it was to be, and a full tenant puts off when the job is due again, or has it stand in
        /// line.
        refused,
    };
    Kind kind = Kind::lost;
    std::optional<JobState> state;  // now
    std::int64_t attempts = 0;
    DispatchNumber dispatch;
    bool tenant_full = false;    // that is why it was refused
    bool worker_full = false;    // or that: its worker has as many jobs in flight as it may have, `in_flight`
    bool others_wait = false;    // or that: jobs that came earlier wait for capacity
    std::int64_t in_flight = 0;  // at the worker of a SlotClaim, where it was counted; 0 = it was not
    bool in_line = false;        // it waits now, for a slot of its tenant or for capacity
    WallTime at{};               // when, by Redis' clock; of an ok
};

struct PendingScan {
    JobId job;
    std::string result_json;
    std::string request_json;  // empty when none is stored any more
};

struct Cancelled {
    std::optional<JobState> before;
    std::optional<JobState> now;
};

class JobStore {
public:
    /// All arguments outlive the store.
    JobStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts);

    /// What others are told of as a side effect of calls; lives as long as the store.
    [[nodiscard]] StoreNews& news() { return news_; }

    /// Whether somebody holds the lock that `lease` is about. A look, much smaller than asking for it.
    [[nodiscard, gnu::noinline]] Task<Outcome<bool>> lock_is_held(const JobLease& lease);

    /// Takes the lock with the lease's token and records the request of a job that nobody works on yet. Nothing = busy.
    /// `read_along` names strings to be read at that same instant. Begins the lease when it succeeds. REQUIRES: the lease is about
    /// the job that `request` names, and its id has something beside white space and none around it. `longest_life` (zero = none) bounds the deadline. It and the limits of `request` are
    /// recorded where no other request is stored; what is stored otherwise sets its own, by a commit. Unless `one_tenant`, the
    /// request counts whatever tenants it names. `answer_of`: the handling whose answer of policy about a job that waits is still at hand;
    /// that of any other one counts no more, for no replica.
    [[nodiscard, gnu::noinline]] Task<Outcome<std::optional<JobFacts>>> take_up(
        JobLease& lease, const cap::JobRequest& request, std::string trace_id, std::vector<std::string> read_along = {},
        Duration longest_life = {}, bool one_tenant = true, Token answer_of = {});
    /// Takes the lock and reads; `read_along` names strings to be read at that same instant. Nothing = busy. Begins the lease
    /// when it succeeds.
    [[nodiscard, gnu::noinline]] Task<Outcome<std::optional<JobFacts>>> take_lock(
        JobLease& lease, std::vector<std::string> read_along = {});
    /// The same for a result. On a job that is at work it is noted as being in hand, whether the lock is busy or not; nothing
    /// is also what it gets while an earlier one stands noted. The note is struck when the job ends, and by
    /// JobLease::settle_on_release. One from another worker than the job's takes the lock without either.
    [[nodiscard, gnu::noinline]] Task<Outcome<std::optional<JobFacts>>> take_turn(
        JobLease& lease, ResultTurn turn, std::vector<std::string> read_along = {});
    /// Applies a step under the lease. An unusable lease is answered `lost` without asking; a lease that turns out to be
    /// lost is marked so; a commit that releases ends it. REQUIRES: the commit is whole and about this job (see the checks of its
    /// members), and goes only where a job may go.
    [[nodiscard, gnu::noinline]] Task<Outcome<Committed>> commit(JobLease& lease, Commit commit);

    /// A request by somebody who does not hold the lock.
    [[nodiscard]] Task<Outcome<Cancelled>> cancel(JobId job);

    /// Empty when there is none.
    [[nodiscard]] Task<Outcome<std::string>> stored_request(JobId job);
    /// The tenant of the job as its record has it; empty: there is no record.
    [[nodiscard]] Task<Outcome<std::string>> tenant_of(JobId job);
    /// Whether a result of the job was in hand somewhere that is not settled (take_turn), while the job was at work.
    [[nodiscard]] Task<Outcome<bool>> result_is_in_hand(JobId job);
    /// Whether `limit` other jobs of the job's tenant are on their way. A commit with a limit asks by itself. REQUIRES: a limit.
    [[nodiscard]] Task<Outcome<bool>> tenant_is_full(JobId job, std::int64_t limit);
    /// Replaces a document that still reads `before` (empty: there is none). False when somebody else has written it.
    [[nodiscard]] Task<Outcome<bool>> replace_document(std::string key, std::string before, std::string after);

    /// Successes whose output nobody is scanning, at most `limit`, oldest first. They are the caller's for `hold`. REQUIRES: a
    /// limit.
    [[nodiscard]] Task<Outcome<std::vector<PendingScan>>> claim_scans(Duration hold, std::int64_t limit);
    /// Only without Mechanism::result_before_state: the pointer by itself.
    [[nodiscard]] Task<Outcome<Done>> set_result_ptr(JobId job, std::string pointer);

private:
    [[nodiscard, gnu::noinline]] Task<Outcome<std::optional<JobFacts>>> ask_for_lock(
        JobLease& lease, std::vector<std::string> read_along, ResultTurn turn);
    /// Leaves of `commit` what does not go into its arguments.
    [[nodiscard]] std::vector<std::string> commit_argv(const JobLease& lease, Commit& commit) const;
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
    const StoreScripts& scripts_;
    StoreNews news_;
};

}  // namespace lockstep::engine
