// The Lua scripts of workflow runs, and the names of their arguments. The texts are files in scripts/.
#pragma once

#include <string_view>

#include "engine/ports/redis.h"

namespace lockstep::engine {

/// In the order of the alphabet.
inline constexpr std::string_view kRunScriptArguments[] = {
    "asked",           // how many: what is asked of other runs
    "asks_done",       // how many of what was asked have been worked off
    "begun",           // how many: jobs that are begun, but for those that are known to be the run's own
    "calls_off",       // given: its jobs are to be cancelled until they have ended
    "children",        // how many: runs that are begun
    "context_ttl_ms",  // of a job's input
    "contexts",        // how many: inputs of jobs
    "definition",      // JSON, to be kept for the run
    "document",        // of the run, JSON
    "due",             // how many: steps that are due by themselves
    "earliest_due",    // of the timers that outlive a replica, in us
    "lock_ttl_ms",     //
    "opened",          // how many: jobs that are waited for
    "org",             // whose run it is
    "outbox",          // how many: what is to be sent
    "output_max",      // bytes of a result that is read along
    "outputs_max",     // bytes of all results that are read along
    "read_sha1",       // what the document was; not given: it is not compared
    "records_ttl_ms",  // of the mark of a visit that does not come back
    "release_lock",    // given: the lock is released afterwards
    "reopened",        // given: the run had ended, and goes on
    "retention_ms",    // of a run that has ended
    "run",             //
    "settled",         // how many: jobs that are not waited for any more
    "status",          // of the run
    "timeline",        // how many: events
    "token",           // of the lock's holder; not given: nothing is locked
    "was_status",      // of the run, before
    "workflow",        //
};

struct RunScripts {
    RunScripts();
    /// As StoreScripts has them.
    [[nodiscard]] static const RunScripts& shared();

    RedisScript take_run;
    RedisScript commit_run;
    RedisScript sent_for_run;
    RedisScript peek_runs;
    RedisScript due_timers;
    RedisScript future_timers;
    RedisScript drop_stale_timers;
    RedisScript create_run;
    RedisScript ask_run;
    RedisScript cancelled_jobs;
    RedisScript forget_runs;
    RedisScript put_definition;
};

}  // namespace lockstep::engine
