// Dead letters in Redis, and the outbox of those that are still to be told of (redis-schema.md 4).
//
// A call that is *unknown* may have taken effect; asked again it writes nothing twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/store/dead_letter.h"
#include "engine/store/job_state.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

class DeadLetterStore {
public:
    /// All arguments outlive the store.
    DeadLetterStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts)
        : redis_(redis), clock_(clock), tunables_(tunables), scripts_(scripts) {}

    /// REQUIRES: an id.
    [[nodiscard]] Task<Outcome<Done>> put(DeadLetter letter);
    /// The letter of a message whose bytes are no packet: listed apart, under a limit of its own, and told of with others.
    [[nodiscard]] Task<Outcome<Done>> bury_undecodable(DeadLetter letter, std::string stream, StreamSequence sequence);
    /// What is to be told of such messages: sums that have been collected for `age`, and those that were to be told before.
    /// `told` is struck off first.
    [[nodiscard]] Task<Outcome<std::vector<UndecodableSum>>> undecodable_sums(Duration age,
                                                                              std::vector<UndecodableSum> told);
    /// Writes the dead letter of a job that has ended in `state` if there is none, and if there should be one. True when it
    /// was written. REQUIRES: `state` is a final one.
    [[nodiscard]] Task<Outcome<bool>> repair(DeadLetter letter, JobState state);
    /// Dead letters whose packet has not been acknowledged for `age`, oldest first, at most `limit`. The letters `put_off` count as
    /// written now: others come first. REQUIRES: a limit.
    [[nodiscard]] Task<Outcome<std::vector<DeadLetter>>> unsent(Duration age, std::int64_t limit,
                                                                std::vector<std::string> put_off);
    [[nodiscard]] Task<Outcome<Done>> sent(std::string id);

private:
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
    const StoreScripts& scripts_;
};

}  // namespace lockstep::engine
