// A worker's result (wire.md 6.3 and 9).
#pragma once

#include "engine/announce/dead_letters.h"
#include "engine/bus/disposition.h"
#include "engine/output/content_scanner.h"
#include "engine/output/output_gate.h"
#include "engine/rollback/rollbacks.h"
#include "engine/scheduler/log_limit.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

class ResultHandler {
public:
    ResultHandler(Replica& replica, DeadLetters& dead_letters, Rollbacks& rollbacks, ContentScanner& scanner)
        : replica_(replica),
          dead_letters_(dead_letters),
          rollbacks_(rollbacks),
          scanner_(scanner),
          gate_(replica, replica.output) {}

    /// Handles one delivery of a result, number `sequence` of its stream (0: nobody knows). The first one that ends the job
    /// counts; all later ones change nothing. `message` is null where none is marked; it outlives the call.
    [[nodiscard]] Task<Disposition> handle(cap::JobResult result, StreamSequence sequence, MessageMarks* message);

private:
    [[nodiscard]] Task<Disposition> under_lock(JobLease& lease, cap::JobResult& result, const JobFacts& facts);
    /// Ends the job: nobody who has had its request or its result in hand has come back (lost_handlings.h).
    [[nodiscard, gnu::noinline]] Task<Disposition> set_aside(JobLease& lease, const JobFacts& facts);
    /// An output that is not the job's to point to (D-30) is withheld, or where nobody asks output policy the job fails.
    void refuse_output(cap::JobResult& result, const JobFacts& facts, OutputPassage& output);
    /// Whether the result may end a job that is in this state. One that is not believed (D-05) is counted.
    [[nodiscard]] bool may_end(const cap::JobResult& result, const JobFacts& facts);
    void refuse(const cap::JobResult& result, const JobFacts& facts, std::string_view reason);
    /// Everything that the end of the job changes, in one step.
    [[nodiscard]] Commit end_of_job(const cap::JobResult& result, const JobFacts& facts,
                                    const OutputPassage& output) const;
    /// What follows from an end that is recorded: nothing of it is needed for the job to be right.
    [[nodiscard]] Task<void> follow_up(const cap::JobResult& result, const std::string& topic, OutputPassage output,
                                       std::optional<DeadLetter> letter);

    void note_effect(const SagaEffect& effect);
    /// A request that cannot be read will not become readable by waiting: the job ends, and an operator learns what may be
    /// missing. False when that could not be written down.
    [[nodiscard]] Task<bool> tell_of_unknown_effect(JobId job, std::string topic, std::string problem);

    Replica& replica_;
    DeadLetters& dead_letters_;
    Rollbacks& rollbacks_;
    ContentScanner& scanner_;
    OutputGate gate_;
    LogLimit refusals_;
};

}  // namespace lockstep::engine
