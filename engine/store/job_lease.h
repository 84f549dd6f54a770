// The lock of a job (redis-schema.md 5): renewed for as long as its handler works, with a fresh random token for each
// acquisition.
#pragma once

#include "engine/store/lease.h"
#include "engine/store/message_marks.h"

namespace lockstep::engine {

class JobLease final : public Lease {
public:
    /// `message` is what is handled under the lock; null: no message of the stream, or one that is not marked. It outlives the lease.
    JobLease(const LeasePorts& ports, JobId job, Token token, MessageMarks* message = nullptr);

    [[nodiscard]] const JobId& job() const { return job_; }
    [[nodiscard]] MessageMarks* message() const { return message_; }
    /// Whether a commit is to compare the token.
    [[nodiscard]] bool fenced() const { return ports().mechanisms.on(Mechanism::lock_fencing); }

    /// Whether the first end of a job counts and no other.
    [[nodiscard]] bool counts_once() const { return ports().mechanisms.on(Mechanism::terminal_idempotency); }

    /// REQUIRES: not its holder.
    void asking();
    /// Somebody else holds it; or it was not asked for, because another result of the job comes first.
    void refused(bool out_of_turn = false);
    [[nodiscard]] bool out_of_turn() const { return out_of_turn_; }
    /// REQUIRES: not its holder.
    void begin(MonoTime asked);
    /// A release also strikes the note that this result is in hand (see JobStore::take_turn): it needs no lock any more.
    void settle_on_release(StreamSequence sequence);

private:
    void on_lost() override;
    void on_abandoned(std::int64_t failures) override;

    JobId job_;
    MessageMarks* message_;
    bool out_of_turn_ = false;  // the latest refusal
};

}  // namespace lockstep::engine
