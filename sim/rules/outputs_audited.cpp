// A listener on `sys.audit.output_policy` learns what output policy has done to outputs (OUT-06, OUT-10; wire.md 2.2;
// engine/delivery-semantics.md).
//
// 1. An event names the step `output_policy`, is done to 100 per cent and ends with the job's topic, or with `unknown` where the request
//    cannot be read. It says DENIED of a job whose output is withheld, and SUCCEEDED of one whose output passes though something was
//    taken out of it, or not all of it was seen: never of one that is withheld.
// 2. When all is quiet, every output that is withheld has been told of, as its dead letter has: the same node tells both.
// 3. Of an output that passes redacted the node that recorded it tells, if nothing has disturbed that node since: it is not repeated.
// What Redis has lost of a job whose output is still to be told of, its dead letter included, cannot be told. That excuses this
// job, and no other.
#include <chrono>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

namespace {

/// Between the record of a redaction and the event there is nothing to wait for but the two calls themselves.
constexpr engine::Duration kRedactionToldWithin = std::chrono::seconds{5};

bool is_forgotten(const Job& job) { return job.lost.any() || job.output.letter_lost; }

void says_what_is_recorded(const OutputTold& told, const Model&, Verdict& verdict) {
    verdict.require(told.job != nullptr, 0, "what it publishes on sys.audit.output_policy is no progress of a job");
    if (told.job == nullptr) return;
    verdict.exercised();
    verdict.require(told.step == "output_policy", 0, "its output is reported for the step {}", told.step);
    verdict.require(told.percent == 100, 0, "its output is reported as {} % done", told.percent);
    const auto& recorded = told.job->output.recorded;
    if (is_forgotten(*told.job)) return;
    const auto names = [&told](std::string_view topic) {
        return told.message.ends_with(fmt::format(" (topic={})", topic));
    };
    const bool is_unread = told.job->request_damaged || told.job->sources.request_unread;
    verdict.require(told.job->topic.empty() || names(told.job->topic) || (is_unread && names("unknown")), 0,
                    "its output is reported with '{}', and its topic is {}", told.message, told.job->topic);
    verdict.require(recorded.has_value(), 0, "its output is reported, and no decision on it is recorded");
    if (!recorded) return;
    verdict.require(told.denied == recorded->record.withholds(), recorded->since.event,
                    "its output is reported as {}, and its record says that it {}", told.denied ? "withheld" : "passed",
                    recorded->record.withholds() ? "is withheld" : "passes");
}

void all_is_told(const AtRest& rest, const Model& model, Verdict& verdict) {
    const OutputWord& output = rest.job->output;
    if (!rest.quiet || is_forgotten(*rest.job)) return;
    verdict.require(output.letter == 0 || output.told_withheld, output.letter,
                    "all is quiet, its dead letter says that its output is withheld, and the audit was never told");
    const auto& recorded = output.recorded;
    if (!recorded || recorded->record.decision != "REDACT" || !is_scheduler(recorded->by)) return;
    const bool in_all_calm = rest.at - recorded->since.at > kRedactionToldWithin &&
                             model.weather().clear_for(recorded->by, recorded->since.at);
    verdict.require(output.told_passed || !in_all_calm, recorded->since.event,
                    "its output was redacted in all calm, and the audit was never told");
}

}  // namespace

void outputs_audited(Rules& rules, const engine::Tunables&) {
    rules.add(says_what_is_recorded);
    rules.add<NodeChanged>(all_is_told);
}

}  // namespace lockstep::sim::rules
