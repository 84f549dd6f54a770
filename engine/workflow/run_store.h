// Workflow runs in Redis (workflow.md 2; redis-schema.md 11). Every change of a run is one script: its document, indexes, timeline,
// timers, and what is to be sent for it, or nothing of that.
//
// 1. A change is made by who holds the run's lock, and only to the document that was read: others rewrite it without asking.
// 2. A call that is *unknown* may have taken effect: the run is read again before anything else is done about it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config/context.h"
#include "engine/ports/redis.h"
#include "engine/reconcile/ticker.h"
#include "engine/runs/effects.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"
#include "engine/store/lease.h"
#include "engine/store/lost_handlings.h"
#include "engine/workflow/run_scripts.h"

namespace lockstep::engine {

/// What is to be sent for a run, by a name that is the same for whoever sends it.
struct Outgoing {
    enum class Kind : char { submission = 's', cancellation = 'c', alert = 'a' };
    std::string id;      // the kind's letter, a colon and what it is about
    std::string packet;  // bytes of a BusPacket

    [[nodiscard]] static std::string make_id(Kind kind, std::string_view about);
    /// Nothing for an id that nobody here has made.
    [[nodiscard]] std::optional<Kind> kind() const;
    /// What stands behind the letter and the colon.
    [[nodiscard]] std::string_view about() const {
        return std::string_view(id).substr(std::min<std::size_t>(id.size(), 2));
    }
};

/// The record of a job that a run waits for.
struct RunJobRecord {
    JobEnd end;  // its state, whatever it is
    bool known = false;
    bool settled = false;  // it has ended, and nothing will change that: no scan of its output is due
};

struct TakenRun {
    enum class Kind : std::uint8_t { held, busy, absent };
    Kind kind = Kind::busy;
    WallTime at{};  // by Redis' clock
    std::string document;
    std::string sha1;        // of the document
    std::string definition;  // JSON; empty: none is kept for the run yet
    std::vector<Outgoing> outbox;
    std::vector<std::string> asks;  // JSON, the oldest first
    std::vector<RunJobRecord> jobs;
    bool written_by_others = false;  // since we wrote it last
    LostHandlings lost;              // of its visits
    bool set_aside = false;          // it fails, and nobody looks at what it is made of: lost_handlings.h
};

/// One change of a run.
struct RunChange {
    std::string run, workflow, org;
    std::string read_sha1;
    std::string document;  // empty: it stays
    std::string status, was_status;
    std::string definition;  // empty: it is kept already
    RunEffects effects;
    std::vector<Outgoing> outbox;
    /// Jobs, with their steps, that the document says are at work although they may have been settled: somebody else has written it.
    std::vector<std::pair<std::string, std::string>> reopened;
    std::size_t asks_done = 0;
    std::vector<std::pair<std::string, WallTime>> due;
    std::optional<WallTime> earliest_due;  // of what outlives a replica
    bool ended = false;
    bool calls_off = false;  // jobs that are still at work are cancelled
};

enum class RunCommitted : std::uint8_t {
    ok,
    lost,      // the lock is somebody else's
    changed,   // somebody else has written the document meanwhile
    recorded,  // there are jobs under ids of jobs that it begins; see RecordedIds
};

/// Ids under which a job was recorded before any commit of its run has opened it.
struct RecordedIds {
    std::set<std::string>
        own;  // by the very job that the run begins: another engine has sent it, or an earlier life of the run
    std::set<std::string> taken;  // by another job: nothing begins with these
};

/// A run that something is to be done about.
struct PeekedRun {
    std::string run;
    std::vector<std::string> ended_jobs;
};
struct RunPage {
    std::vector<PeekedRun> runs;
    std::string last_score;  // where the next page begins; empty = there is none
};

class RunStore {
public:
    /// All arguments outlive the store.
    RunStore(Redis& redis, Clock& clock, const Tunables& tunables)
        : redis_(redis), clock_(clock), tunables_(tunables) {}
    explicit RunStore(const Context& context) : RunStore(context.ports.redis, context.ports.clock, context.tunables) {}

    /// Takes the run's lock and reads the run, and the records of `jobs`, in their order: of all, or of the first ones that fit, which
    /// is one at least. Without a token nothing is locked.
    [[nodiscard]] Task<Outcome<TakenRun>> take(std::string run, Token token, std::vector<std::string> jobs);
    /// Nothing is written where `recorded` comes of it: `ids` tells of those jobs then, and outlives the call.
    [[nodiscard]] Task<Outcome<RunCommitted>> commit(Token token, RunChange change, bool release, RecordedIds& ids);
    /// The definition of a workflow; nothing where there is none.
    [[nodiscard]] Task<Outcome<std::optional<std::string>>> definition(std::string workflow);
    /// Documents of other runs; empty for one that is not there.
    [[nodiscard]] Task<Outcome<std::vector<std::string>>> documents(std::vector<std::string> runs);
    /// What is still to be sent for the run, in no order.
    [[nodiscard]] Task<Outcome<std::vector<Outgoing>>> outbox(std::string run);
    /// What was sent need not be sent again.
    [[nodiscard]] Task<Outcome<Done>> sent(std::string run, std::vector<std::string> ids);
    /// The record of one job, as it is now.
    [[nodiscard]] Task<Outcome<std::string>> job_state(JobId job);

    // As the holder of a tick's lock; for anybody else they find nothing.
    [[nodiscard]] Task<Outcome<RunPage>> peek(TickLock lock, std::string index, std::string after);
    [[nodiscard]] Task<Outcome<std::vector<std::string>>> due_timers(TickLock lock, Duration due_again);
    [[nodiscard]] Task<Outcome<std::int64_t>> drop_stale_timers(TickLock lock, Duration stale_after);
    [[nodiscard]] Task<Outcome<std::vector<std::string>>> jobs_to_cancel(TickLock lock);
    [[nodiscard]] Task<Outcome<std::int64_t>> forget_runs(TickLock lock);

    struct FutureTimer {
        std::string member;
        Duration due_in{};
    };
    [[nodiscard]] Task<Outcome<std::vector<FutureTimer>>> future_timers();

    struct Created {
        bool is_new = false;
        std::string run;  // the one that is known by its id, or by the key
    };
    /// Stores a new run. An empty key: none.
    [[nodiscard]] Task<Outcome<Created>> create(ChildRun run, std::string idempotency_key);
    /// False: there is no such run.
    [[nodiscard]] Task<Outcome<bool>> ask(std::string run, std::string what);
    /// Stores a definition for the runs that begin from now on. True: there was none.
    [[nodiscard]] Task<Outcome<bool>> put_definition(std::string workflow, std::string org, std::string document);

private:
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
    const RunScripts& scripts_ = RunScripts::shared();
};

}  // namespace lockstep::engine
