// A job's lock as its holder sees it: the token that fences every commit, the time until which it surely holds, and its
// renewal (redis-schema.md 5).
//
// 1. Each acquisition has a fresh random token. Whoever has the token owns the lock; nothing else counts.
// 2. Renewed every third of its life. Three failed renewals in a row end the renewal; "not yours" ends it at once. From
//    then on the lease is not usable: its holder commits and publishes nothing more, and its outcome is "lock lost".
// 3. Validity is judged from before the request was sent, on the monotonic clock, so it ends here before it does in Redis.
#pragma once

#include <map>
#include <string>

#include "engine/config/context.h"
#include "engine/config/mechanisms.h"
#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

/// The locks that this replica holds or may hold. A handler that is destroyed in mid-await leaves its lock here, so that a
/// stopping replica can release it instead of letting everybody wait for its expiry.
class LeaseBook {
public:
    void enter(const std::string& token, const std::string& job) { held_.insert_or_assign(token, job); }
    void strike(const std::string& token) { held_.erase(token); }
    [[nodiscard]] const std::map<std::string, std::string>& held() const { return held_; }

private:
    std::map<std::string, std::string> held_;  // token -> job
};

/// What a lease needs from its surroundings; all outlive it.
struct LeasePorts {
    Clock& clock;
    Redis& redis;
    Metrics& metrics;
    Log& log;
    Executor& executor;
    const Tunables& tunables;
    const StoreScripts& scripts;
    LeaseBook& book;
    const Mechanisms& mechanisms;
    Scope& releases;  // of locks whose holders are gone; owned beside the book
};

/// The leases of one replica: the book of them, and the releases that nobody waits for.
class Leases {
public:
    /// Both outlive it.
    Leases(const Context& context, const StoreScripts& scripts)
        : context_(context), scripts_(scripts), releases_(context.ports.executor) {}

    [[nodiscard]] LeasePorts ports() {
        const Ports& p = context_.ports;
        return {p.clock,  p.redis, p.metrics,           p.log,    p.executor, context_.tunables,
                scripts_, book_,   context_.mechanisms, releases_};
    }
    [[nodiscard]] const LeaseBook& book() const { return book_; }
    /// Stops the releases that are under way; their locks stay in the book.
    void cancel_releases() { releases_.cancel(); }

private:
    const Context& context_;
    const StoreScripts& scripts_;
    LeaseBook book_;
    Scope releases_;  // last: its tasks use everything above
};

/// Releases one lock by its token: twice at least, and with growing pauses until the server has said something definite
/// ("not ours" is fine) or `until` has passed; what is left then expires. `settled_result`: as in
/// JobLease::settle_on_release.
[[nodiscard]] Task<void> release_lock(LeasePorts ports, std::string job, std::string token, MonoTime until,
                                      std::uint64_t settled_result = 0);

class JobLease {
public:
    JobLease(const LeasePorts& ports, std::string job, std::string token);
    JobLease(const JobLease&) = delete;
    JobLease& operator=(const JobLease&) = delete;

    [[nodiscard]] const std::string& job() const { return job_; }
    [[nodiscard]] const std::string& token() const { return token_; }
    /// The key that holds the lock.
    [[nodiscard]] std::string lock_key() const;
    /// Whether a commit is to compare the token.
    [[nodiscard]] bool fenced() const { return ports_.mechanisms.on(Mechanism::lock_fencing); }

    /// A request for the lock is about to leave: from here on it may be ours without our knowing.
    void asking();
    /// Somebody else holds it; or it was not asked for, because another result of the job comes first.
    void refused(bool out_of_turn = false);
    [[nodiscard]] bool out_of_turn() const { return out_of_turn_; }
    /// The lock was asked for at `asked` and granted: starts the renewal.
    void begin(MonoTime asked);
    /// False before `begin`, after `end`, and once the lock is or may be somebody else's.
    [[nodiscard]] bool usable() const;
    /// It was held, and is or may be somebody else's now: whatever its holder has come to, the outcome is "lock lost".
    [[nodiscard]] bool lost() const;
    /// The server says that the token does not hold the lock.
    void mark_lost();
    /// A commit released the lock together with its writes.
    void end();
    /// A release also strikes the note that this result is in hand (see JobStore::take_turn): it needs no lock any more.
    void settle_on_release(std::uint64_t sequence) { settled_ = sequence; }
    /// Releases explicitly. What the server does not confirm at once is tried again in the background, for as long as the lock
    /// can live: a lock that nobody holds must not keep its job waiting. Also after a request whose answer got lost. Nothing
    /// when it was refused or has ended.
    [[nodiscard]] Task<void> release();

private:
    enum class Phase : std::uint8_t { none, asking, held, lost };

    [[nodiscard]] Task<void> keep_renewing();

    LeasePorts ports_;
    std::string job_;
    std::string token_;
    MonoTime valid_until_{};
    Phase phase_ = Phase::none;
    bool out_of_turn_ = false;   // the latest refusal
    std::uint64_t settled_ = 0;  // the result that a release settles; 0 = none
    Scope renewal_;
};

}  // namespace lockstep::engine
