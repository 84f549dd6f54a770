// A lock over one key of Redis as its holder sees it: the token that fences what is done under it, the time until which it
// surely holds, its renewal and its end (redis-schema.md 5). Locks of jobs, rollbacks, ticks and of the snapshot are leases.
//
// 1. Whoever has the token owns the lock; nothing else counts.
// 2. Where it is renewed, then every third of its life. Three failed renewals in a row end the renewal; "not yours" ends it at
//    once. From then on the lease is not usable: its holder commits and publishes nothing more.
// 3. Validity is judged from before the request was sent, on the monotonic clock, so it ends here before it does in Redis.
// 4. A release is tried again until the server has said what became of it: a lock that nobody holds makes others wait. A life after
//    the last call that may take it is over, it is gone by itself. While calls have no answer and their connection stands, what was
//    sent before them, and may take it, is still on its way.
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
#include "engine/runtime/identifiers.h"
#include "engine/runtime/scope.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

/// Where the handling under a lock is marked for as long as it has not come back (scripts/common.lua): a field of a hash, or with no
/// field named a key of its own. An empty key: it is not marked.
struct HandlingMark {
    std::string key{};
    std::string field{};
};

/// A lock that is to be given back, and the mark that is taken off with it.
struct HeldLock {
    std::string key;
    Token token;
    HandlingMark mark{};
    // Of a result in hand: the note of it in the mark's hash is struck as well (JobStore::take_turn).
    StreamSequence noted{};
};

/// The locks that this replica holds or may hold. A task that is destroyed in mid-await leaves its lock here, so that a
/// stopping replica can release it instead of letting everybody wait for its expiry.
class LeaseBook {
public:
    /// REQUIRES: a token and a key.
    void enter(const HeldLock& lock);
    void strike(const Token& token) { held_.erase(token); }
    [[nodiscard]] const std::map<Token, HeldLock>& held() const { return held_; }

private:
    std::map<Token, HeldLock> held_;
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
/// ("not ours" is fine) or `until` has passed; what is left then expires. A call may take `answer_within`.
[[nodiscard]] Task<void> release_lock(LeasePorts ports, HeldLock lock, Duration answer_within, MonoTime until);

struct LeaseTerms {
    Duration life{};           // from each grant and each renewal on
    Duration answer_within{};  // for a renewal and for a try to release
    bool renewed = false;
    bool booked = true;  // a stopping replica gives it back
};

class Lease {
public:
    /// REQUIRES: a key, and terms that last. An empty token stands for going without the lock, which is then never asked for.
    Lease(const LeasePorts& ports, std::string key, Token token, LeaseTerms terms, HandlingMark mark = {});
    virtual ~Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    [[nodiscard]] const std::string& key() const { return lock_.key; }
    [[nodiscard]] const Token& token() const { return lock_.token; }
    [[nodiscard]] const LeaseTerms& terms() const { return terms_; }

    /// A request for the lock is about to leave: from here on it may be ours without our knowing. REQUIRES: a token.
    void asking();
    /// Somebody else holds it, or the request was not applied: nothing is to be given back.
    void refused();
    /// The lock was asked for at `asked` and granted: starts the renewal. To a holder, it begins its life again. REQUIRES: a
    /// token; not asked for later than now.
    void begin(MonoTime asked);
    /// False before `begin`, after `end`, and once the lock is or may be somebody else's.
    [[nodiscard]] bool usable() const { return remaining() > Duration{0}; }
    /// For how long it surely is ours; zero or less: it is not.
    [[nodiscard]] Duration remaining() const;
    /// It was held, and is or may be somebody else's now: whatever its holder has come to, the outcome is "lock lost".
    [[nodiscard]] bool lost() const;
    /// The server says that the token does not hold the lock.
    void mark_lost();
    /// A script released the lock together with its writes, or it is known not to be ours.
    void end();
    /// Releases explicitly. What the server does not confirm at once is tried again in the background, for as long as the lock
    /// can live. Also after a request whose answer got lost. Nothing when it was refused or has ended.
    [[nodiscard]] Task<void> release();
    /// Marks what is done under the lock from here on as done alone, and renews it. False: it is not ours any more, or nobody knows
    /// whether that was written. REQUIRES: a mark.
    [[nodiscard]] Task<bool> goes_on_alone();

protected:
    [[nodiscard]] bool held() const { return phase_ == Phase::held; }
    [[nodiscard]] const LeasePorts& ports() const { return ports_; }
    /// A release also strikes this note, see HeldLock.
    void note_on_release(StreamSequence noted);

private:
    enum class Phase : std::uint8_t { none, asking, held, lost };

    /// A lock that was held is somebody else's.
    virtual void on_lost() {}
    /// It was not renewed for so many times in a row.
    virtual void on_abandoned(std::int64_t /*failures*/) {}

    [[nodiscard]] Task<void> keep_renewing();

    LeasePorts ports_;
    HeldLock lock_;
    LeaseTerms terms_;
    MonoTime valid_until_{};
    Phase phase_ = Phase::none;
    Scope renewal_;
};

}  // namespace lockstep::engine
