// Named arguments of a script call. ARGV begins with how many there are; names and values follow, and after them what the script
// takes in order (fields of the job hash and their values). `named_arguments` of scripts/common.lua reads them.
//
// kScriptArguments is the one list of the names of this store's scripts: what a script reads under another name, or nothing reads,
// fails a test. Other rooms have lists of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::engine {

/// In the order of the alphabet.
inline constexpr std::string_view kScriptArguments[] = {
    "add_attempts",        // attempts that are added
    "answer_of",           // the handling whose answer of policy is still at hand
    "begin_dispatch",      // given: a new dispatch begins
    "compensation",        // template of the job that undoes this one, recorded on `saga_stack`
    "dead_letter",         // its JSON, without what only the script knows
    "dead_letter_id",      //
    "dead_letter_ttl_ms",  //
    "dead_letters_kept",   //
    "deadline_from",       // when `deadline_ms` begins, in microseconds by Redis' clock; not given: now
    "deadline_ms",         // until the job's deadline, unless it has an earlier one
    "decision",            // record of what policy has said, JSON
    "end_scan",            // given: the scan of the output is over
    "entry",               // of a saga's stack: what has been dealt with
    "expected_dispatch",   // the dispatch that the job must be at
    "fitting",          // workers that might have had the job, each with how many jobs it may have in flight: "w 8 v 4"
    "idempotency_key",  // key of Redis under which the request is known; with `idempotency_ttl_ms`
    "idempotency_ttl_ms",  //
    "in_flight_mark",      // key of the mark of a message that is being handled
    "job",                 //
    "limit_delay_ms",      // until the next try of a job that a full tenant refuses
    "lock_ttl_ms",         //
    "longest_delay_ms",    // between two tries: a next try beyond it was written by another clock
    "longest_life_ms",     // of the job, from now
    "mark_content",        // of the message: what its processed mark holds
    "mark_ttls_ms",        // of the in-flight and the processed mark: "120000 1200000"
    "next_attempt_ms",     // until the next try
    "next_saga",           // owed a rollback after this one, if `next_stack` is there
    "next_stack",          //
    "of_run",              // whose entries are to be undone; not given: those of any run
    "of_tenant",           // whose entries are to be undone; not given: everybody's
    "others_after_ms",     // entries of others that have been met for so long are told of, too
    "output_record",       // verdict on the output, JSON
    "own_run",             // given: the job's id names a step of no other tenant's run
    "pool",                // of the worker
    "processed_mark",      // key of the mark of a message that has been handled
    "processed_ttl_ms",    //
    "queue",               // in which the job waits for capacity from now on
    "records_ttl_ms",      // of what is kept about a job
    "release_lock",        // given: the lock is released afterwards
    "replaces_ptr",        // what `result_ptr` is to replace
    "request",             // JSON
    "result_ptr",          //
    "result_worker",       // whose result it is
    "rollback",            // given: from here on the rollback of what is recorded is owed
    "saga",                // as it is named in the list of those whose rollback is owed
    "saga_aborted",  // stands while a saga that no later work shares has failed: what it still records is undone at once
    "saga_owed",     // the sagas whose rollback is owed
    "saga_stack",    // where its compensations are recorded
    "scan_hold_ms",   // how long nobody but the committer looks at `scan_result`
    "scan_result",    // the result as it was reported: its output is still to be scanned
    "sequence",       // of a result, in the stream
    "slots",          // jobs that `worker` may have in flight; not given: any number
    "sources",        // states that the first of `walk` may come from: ",A,B,"; the absent state is ",,"
    "stand_in_line",  // given: who is refused by `tenant_limit` stands in line, unless it holds a slot already
    "step",           // of a rollback: "take" the lock; or it is held, and `entry` is "used" or to be buried: "bury"
    "tenant",         // the request's, to be held against the job's
    "tenant_limit",   // refused while as many other jobs of the tenant hold a slot; 0 = no limit
    "token",          // of the lock's holder
    "trace_id",       //
    "turns_of",       // a queue that must be empty unless the job was called out of one
    "two_tenants",    // given: the fields of the request name two
    "unfenced",       // given: the token is not compared
    "wait_ms",        // how long a result waits for an earlier one
    "walk",           // states to go through: "A,B"
    "worker",  // whose word a result is, not given: whoever's counts; of a dispatch, whom it goes to; whose slots are handed on
    "worker_active",  // jobs that it reported last
    "worker_age_ms",  // how long ago
};

class ScriptArguments {
public:
    /// `names`: those that there are, in the order of the alphabet.
    explicit ScriptArguments(std::span<const std::string_view> names = kScriptArguments) : names_(names) {}

    /// Each adds an argument; an empty text, a zero and a false are not given. REQUIRES: `name` is one of the names.
    ScriptArguments& text(std::string_view name, std::string value);
    ScriptArguments& number(std::string_view name, std::int64_t value);
    ScriptArguments& duration(std::string_view name, Duration value);
    ScriptArguments& flag(std::string_view name, bool given);
    /// The same, where zero says something else than nothing.
    ScriptArguments& number_or_zero(std::string_view name, std::int64_t value);
    ScriptArguments& duration_or_zero(std::string_view name, Duration value);

    /// ARGV, with what the script takes in order at its end. Ends this object's use.
    [[nodiscard]] std::vector<std::string> argv(std::vector<std::string> in_order = {}) &&;

private:
    std::span<const std::string_view> names_;
    std::vector<std::string> named_{{}};  // first: how many
};

}  // namespace lockstep::engine
