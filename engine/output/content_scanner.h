// The thorough look at an output, after its success has been recorded (wire.md 9.1).
//
// 1. The commit that records the success leaves a mark with the result, and the mark goes only with the commit that records
//    the verdict. A scan that dies with its replica is found by another one (H-41).
// 2. A scan starts at once where its job was committed. Every replica also looks for marks whose hold has passed; looking
//    takes a hold, so two replicas share no work. If a slow one is overtaken after all, the first verdict counts - but for
//    one against the output, which counts whenever it comes.
// 3. Nobody answers: three tries, then the fail mode decides (C-16). `open` leaves the job as it is, without a verdict;
//    `closed` withholds its output. An open circuit is no try: it is waited for, for as long as two trips last.
// 4. Policy has spoken and the store does not take it down: a word against the output is kept and tried again for as long
//    as this replica lives, any other for a few tries. Then the mark stays, and the scan is done again. Nothing is lost;
//    but an output that is to be withheld stays readable meanwhile, and that is told: a dead letter `quarantine_failed` on
//    the bus, which needs no store, a line in the log and a counter (D-11).
//    Room among the tenant's other large content is waited for without a try, for as long as no other replica begins the scan; then its mark brings
//    it back.
// 5. Of an output that is too long policy sees the beginning, and may allow that. What comes behind is an output without a
//    verdict, as in 3: `open` lets it pass, with a record that says `partial`; `closed` withholds it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/config/context.h"
#include "engine/output/output_client.h"
#include "engine/output/output_verdict.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/store/job_store.h"

namespace lockstep::engine {

class ContentScanner {
public:
    /// All arguments outlive the scanner.
    ContentScanner(const Context& context, JobStore& store, Leases& leases, OutputPolicyClient& policy,
                   DeadLetters& dead_letters);

    /// The mark of a scan that begins here.
    [[nodiscard]] ScanMark mark(const cap::JobResult& result) const;
    /// Scans in the background. Only after the commit with the mark has been applied. REQUIRES: a result.
    void begin(std::shared_ptr<const cap::JobResult> result, std::shared_ptr<const cap::JobRequest> request);

    /// Looks for marks that nobody works on, for ever.
    [[nodiscard]] Task<void> run();

    /// Waits until `deadline` for scans that are at work; those that only wait for their next try stop at once. What is not
    /// finished is found by its mark. REQUIRES: the scheduler is stopping.
    [[nodiscard]] Task<void> drain(MonoTime deadline);

private:
    using Result = std::shared_ptr<const cap::JobResult>;
    using Request = std::shared_ptr<const cap::JobRequest>;
    /// What a scan came to. Without a verdict the job stays as it is.
    struct Judgement {
        std::optional<OutputVerdict> verdict;
    };
    /// What has been done about a verdict that the store does not take.
    struct Alarm {
        bool counted = false;  // and logged
        bool told = false;     // to the bus
    };

    [[nodiscard]] Task<void> take_up_left_ones();
    [[nodiscard]] Task<void> scan(Result result, Request request);
    /// Nothing when the scheduler stops first.
    [[nodiscard]] Task<std::optional<Judgement>> judge(Result result, Request request);
    /// A place for a large output that waits `since` then. None: `until` has come or the scheduler stops.
    [[nodiscard]] Task<Crowd::Place> wait_for_room(Request request, WallTime since, MonoTime until);
    /// What the fail mode makes of an output that nobody has judged.
    [[nodiscard]] Judgement without_answer(const cap::JobResult& result, const std::string& topic,
                                           std::string reason) const;
    /// The same of what lies behind the part that policy has seen, and allows.
    [[nodiscard]] Judgement with_rest(OutputVerdict verdict, const JobId& job, const std::string& topic) const;
    /// Tells that an output stays readable although policy withholds it, if that is so and has not been told. `alarm` outlives
    /// the call.
    [[nodiscard]] Task<void> raise_alarm(Alarm& alarm, JobId job, std::string topic, Judgement judgement);
    /// Ends the scan with what it came to, under the job's lock. False when that is to be tried again.
    [[nodiscard]] Task<bool> settle(JobId job, std::string topic, Judgement judgement);
    /// False when the scheduler stops meanwhile.
    [[nodiscard]] Task<bool> pause(Duration duration);
    [[nodiscard]] Duration hold() const;

    const Context& context_;
    JobStore& store_;
    Leases& leases_;
    OutputPolicyClient& policy_;
    DeadLetters& dead_letters_;
    Semaphore slots_;
    std::set<JobId> scanning_;  // those of `scans_`
    Event stopping_;
    Scope scans_;  // last: its tasks use everything above
};

}  // namespace lockstep::engine
