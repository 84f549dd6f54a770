#include "engine/store/job_lease.h"

#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

/// In the job hash: the mark of the handling that has the job in hand.
constexpr std::string_view kFieldInHand = "ls_in_hand";

/// With the job lock off every handler has a lock of its own: none waits for another.
std::string lock_key_of(const Mechanisms& mechanisms, const JobId& job, const Token& token) {
    std::string key = keys::job_lock(job);
    if (!mechanisms.on(Mechanism::job_lock)) key += ":" + token.text();
    return key;
}

LeaseTerms terms_of(const LeasePorts& ports) {
    LeaseTerms terms;
    terms.life = ports.tunables.job_lock_ttl;
    terms.answer_within = ports.tunables.store_op_timeout;
    terms.renewed = ports.mechanisms.on(Mechanism::lock_renewal);
    return terms;
}

}  // namespace

JobLease::JobLease(const LeasePorts& ports, JobId job, Token token, MessageMarks* message)
    : Lease(ports, lock_key_of(ports.mechanisms, job, token), token, terms_of(ports),
            {keys::job_meta(job), std::string(kFieldInHand)}),
      job_(std::move(job)),
      message_(message) {}

void JobLease::asking() {
    PRECONDITION(!held(), "the lock of job {} is asked for by its holder", job_);
    Lease::asking();
}

void JobLease::refused(bool out_of_turn) {
    out_of_turn_ = out_of_turn;
    Lease::refused();
}

void JobLease::begin(MonoTime asked) {
    PRECONDITION(!held(), "the lock of job {} is granted to its holder", job_);
    Lease::begin(asked);
}

void JobLease::settle_on_release(StreamSequence sequence) { note_on_release(sequence); }

void JobLease::on_lost() { ports().log.reached("job_lock_lost"); }

void JobLease::on_abandoned(std::int64_t failures) {
    ports().metrics.add(Metric::job_lock_abandoned);
    ports().log.event(LogLevel::error, "job lock renewal abandoned", {{"job_id", job_}, {"failures", failures}});
    ports().log.reached("job_lock_abandoned");
}

}  // namespace lockstep::engine
