// Telling the bus about dead letters. The entry itself is written with the state that it explains, in one script; the
// packet follows, and until it is acknowledged the outbox remembers it, so that no crash can swallow it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/config/context.h"
#include "engine/runtime/scope.h"
#include "engine/store/dead_letter_store.h"

namespace lockstep::engine {

class DeadLetters {
public:
    /// Both outlive it.
    DeadLetters(const Context& context, DeadLetterStore& store)
        : context_(context), store_(store), aside_(context.ports.executor) {}

    /// Publishes the packet, and the audit event that goes with some, with one more try after half a second, and strikes it
    /// off the outbox. A failure is counted and logged; the sweep tries again.
    [[nodiscard]] Task<void> announce(DeadLetter letter);
    /// Publishes it once, and nothing else. Whether the stream has acknowledged it.
    [[nodiscard]] Task<bool> tell(DeadLetter letter);
    /// The same for one that is about a job and not the last word on it: a later letter of that job is none of its copies.
    [[nodiscard]] Task<bool> tell_meanwhile(DeadLetter letter);
    /// The same as `announce` without waiting for it. Where too many are under way, or the scheduler stops, the sweep does it.
    void announce_aside(DeadLetter letter);
    /// Publishes the sums of the messages that no packet could be read from, then the letters that have waited in the outbox for a
    /// while, of each as many as the bus takes in the time of one publish, and one at least: the ticking replica has other things to do.
    /// The next sweep goes on where this one stopped. REQUIRES: called by one replica at a time.
    [[nodiscard]] Task<void> sweep();

private:
    [[nodiscard]] Task<bool> publish(DeadLetter letter, std::string message_id);
    [[nodiscard]] Task<void> sweep_undecodable();
    /// Strikes off what was sent, and counts what was not, each letter once however often it is tried.
    [[nodiscard]] Task<void> note(DeadLetter letter, bool sent);

    const Context& context_;
    DeadLetterStore& store_;
    std::set<std::string> counted_;  // ids in the outbox that this replica has counted as failed
    std::vector<std::string>
        put_off_;           // ids that the last sweep could not publish, to go behind those that had no turn
    std::string last_sum_;  // the name of the sum that was published last, or tried
    Scope aside_;
};

}  // namespace lockstep::engine
