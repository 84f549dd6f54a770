#include "prod/ctl/reason_codes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

constexpr auto kCodes = std::to_array<ReasonCode>({
    {"safety_denied", "Policy has denied the job.",
     "`lockstepctl status JOB` names the rule and its reason. Change the policy, then `lockstepctl dlq retry JOB`; or "
     "submit a corrected request under another id."},
    {"safety_unknown",
     "The safety kernel has answered with a decision that this version does not know, which counts as a denial.",
     "Look whether the kernel is newer than the schedulers; then `lockstepctl dlq retry JOB`."},
    {"safety_timeout",
     "Policy came to no end about this job, three times, while it answered about others: its content takes too long to "
     "judge.",
     "See what the job's input is. Lower `input_policy.max_scan_bytes`, or write the rules' patterns so that they take "
     "less; then "
     "`lockstepctl dlq retry JOB`."},
    {"input_unreadable",
     "Policy has to see the job's input, and nothing could be read under its pointer, however often it was tried.",
     "Store the input under its pointer again; if that is `ctx:JOB`, `lockstepctl dlq retry JOB` submits the job "
     "again. "
     "Inputs are to be stored before their jobs are submitted, for as long as these may wait."},
    {"max_scheduling_retries", "No worker could be given the job for as many tries as there are.",
     "The reason says what was missing at the last try. Start workers, or name a pool for the topic; then "
     "`lockstepctl dlq retry JOB`."},
    {"max_retries_exceeded", "The job was given to workers more often than policy or its topic allows.",
     "Find out in the workers' logs why none of them finished it. The reason says who set the limit: a rule of the "
     "policy or "
     "the timeouts file."},
    {"dispatch_failed", "The job can be given to nobody, whatever workers there are.",
     "The reason says what is wrong with the request. Correct it, and submit it under another id."},
    {"invalid_request",
     "The stored request breaks a rule for submissions, names two tenants, or points to data that is not its tenant's "
     "to have.",
     "The reason says which. Correct the program that writes requests: `tenant_id` of the job and of its metadata are "
     "the same, "
     "and `context_ptr` "
     "leads to data of that tenant's jobs or to a key that `LOCKSTEP_POINTER_PREFIXES` allows. Submit the job again "
     "under another id."},
    {"invalid_result_pointer", "The worker's `result_ptr` leads to data that is not the job's tenant's to have.",
     "Have the worker write its output to `res:JOB`, or name the prefix of its keys in `LOCKSTEP_POINTER_PREFIXES`; "
     "then "
     "`lockstepctl dlq retry JOB`."},
    {"request_missing", "The job was waiting, and its request is not stored any more: nobody could be sent it.",
     "Submit it again under another id. Then look where its key went: `lockstepctl doctor` says whether Redis may "
     "throw keys "
     "away."},
    {"handling_lost",
     "Whoever had the job or run in hand did not come back: three times in a row beside other work, and three times "
     "with "
     "nothing else in hand. As far as anybody can see, handling it ends the process.",
     "Look at the logs of the schedulers and workflow engines for how they ended: `handled alone` names the lock "
     "shortly "
     "before. Report the end as a defect, with the request (`job:req:JOB`) or the run. Once it is mended, "
     "`lockstepctl dlq retry JOB`; a letter `run:RUN` is about a run: start it again."},
    {"timeout", "No result has come within the limit of the job's topic, or its deadline has passed.",
     "The work may have been done: ask its worker, by the job's id. Limits stand in the timeouts file, the deadline in "
     "the request."},
    {"timeout_unheard",
     "As `timeout`, although results that are stored had not all been heard: one of them may be this job's.",
     "The work was probably done: ask its worker, by the job's id. Then see why schedulers did not hear results: "
     "`lockstepctl doctor`, and a shorter `NATS_JS_ACK_WAIT`."},
    {"job_failed", "Its worker has reported a failure without a code of its own.",
     "The reason is the worker's. Look at its log, by the job's id or its trace."},
    {"output_quarantined", "Policy withholds the job's output; it was held back before success was told.",
     "`lockstepctl status JOB` names the rule and its reason."},
    {"output_quarantined_async",
     "Policy withholds the job's output; success had been told before its content was scanned.",
     "`lockstepctl status JOB` names the rule and its reason. Whoever has read the output meanwhile has it."},
    {"quarantine_failed",
     "Policy withholds the job's output, and Redis has not taken that down: the output can still be read. It is told "
     "on "
     "`sys.job.dlq` only, and tried on.",
     "See why Redis takes no writes: `lockstepctl doctor`. A letter `output_quarantined_async` of the job says that it "
     "is over."},
    {"poison_message", "A message that is no packet, or that came again until nobody tries it any more. It is no job.",
     "The letter's id, `poison:STREAM:SEQUENCE`, names the message: `nats stream get STREAM SEQUENCE`. Those that are "
     "no packets "
     "are listed by `lockstepctl dlq list --undecodable`. Find out who publishes them."},
    {"saga_unmarshal_failed", "A recorded compensation cannot be read, so something that a workflow did is not undone.",
     "The reason says why, and where the bytes are kept. Undo by hand what the step did."},
    {"saga_entry_expired",
     "A recorded compensation of another tenant, or of another implementation, was met for seven days and "
     "taken off the list.",
     "The reason says where it is kept. Undo by hand what the step did, where that was not done."},
    {"redelivery_dlq_retry", "The job had ended badly and nobody had written its letter; this one stands for it.",
     "`lockstepctl status JOB` says how it ended."},
    {"not_routable",
     "The front has given the message up: it is larger than what the other end takes. It stands in no store.",
     "The reason says how large it is. Give all NATS servers the same `max_payload`, or submit less, under another id.",
     false},
    {"approval_rejected", "A person has rejected the job.",
     "`lockstepctl status JOB` says why, where a reason was given.", false},
    {"policy_denied", "Somebody who checks policy beside the scheduler has denied the job.",
     "The reason is that of whoever reported it.", false},
    {"policy_violation", "A worker has stopped because the job broke a rule.", "The reason is the worker's.", false},
    {"permission_denied", "A worker was not allowed to do what the job asks for.",
     "The reason is the worker's: give it the permission, then `lockstepctl dlq retry JOB`.", false},
});

constexpr std::string_view kPage = "dead_letters.md";

}  // namespace

std::span<const ReasonCode> reason_codes() { return kCodes; }

const ReasonCode* find_reason_code(std::string_view code) {
    const auto found = std::ranges::find(kCodes, code, &ReasonCode::code);
    return found == kCodes.end() ? nullptr : &*found;
}

std::string explain_reason_code(std::string_view code) {
    if (code.empty()) return "it has no code: whoever wrote it has given none\n";
    const ReasonCode* known = find_reason_code(code);
    if (known == nullptr)
        return fmt::format("{}: a code of whoever reported the failure, a worker as a rule; the reason is its, too\n",
                           printable(code));
    return fmt::format("{}: {}\ndo: {}\n(every code: lockstepctl dlq reasons, and {}#{})\n", code, known->says,
                       known->mend, kPage, code);
}

std::string reason_codes_page() {
    std::string page =
        "# What the codes of dead letters mean\n\n"
        "Printed by `lockstepctl dlq reasons`; a test holds this page to it. `reason_code` of a letter is one of "
        "these, or what a "
        "worker says of its\n"
        "own. `lockstepctl dlq show JOB` names the place here, `lockstepctl dlq list --reason CODE` lists the letters "
        "of one.\n\n"
        "`lockstepctl dlq retry JOB` submits the job again, as it was stored, in place of its letter. It refuses, and "
        "the letter stays, where\n"
        "the request or the input has expired, or where the input lies elsewhere than at `ctx:JOB`.\n";
    for (const ReasonCode& one : kCodes)
        page += fmt::format("\n## {}\n\n{}{}\n\n{}\n", one.code, one.says,
                            one.ours ? "" : " No scheduler of Lockstep's writes it.", one.mend);
    return page;
}

nlohmann::json reason_codes_json() {
    nlohmann::json list = nlohmann::json::array();
    for (const ReasonCode& one : kCodes) list.push_back({{"code", one.code}, {"says", one.says}, {"mend", one.mend}});
    return list;
}

}  // namespace lockstep::prod
