// What the model makes of what is said about jobs on the bus: that they were submitted or succeeded, are to be left off, came too
// late, or what became of their outputs. And of the end of the run.
#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

namespace {

/// As whom schedulers publish (wire.md 2.2).
constexpr std::string_view kSchedulersName = "cordum-scheduler";

bool is_dispatch(const Event& event) {
    return event.packet != nullptr && event.packet->has_job_request() && event.subject != wire::kSubjectSubmit;
}

/// Nothing but its topic decides which workers may have it.
bool asks_for_topic_only(const cap::JobRequest& request) {
    const auto constrains = [](const auto& label) {
        const std::string& name = label.first;
        return name.starts_with("preferred_") || name.starts_with("placement.") || name.starts_with("constraint.") ||
               name.starts_with("node.");
    };
    return request.meta().requires__size() == 0 && std::ranges::none_of(request.labels(), constrains);
}

bool is_cancel(const Event& event) {
    return event.subject == wire::kSubjectCancel && event.packet != nullptr && event.packet->has_job_cancel();
}

}  // namespace

void Model::on_announcement(const Event& event, Time now) {
    note_cancel(event);
    if (event.when != When::before) return;
    if (event.subject == wire::kSubjectHandshake && event.node.valid()) replica(event.node).serves = true;
    Job* named = is_cancel(event) ? known_job(event.packet->job_cancel().job_id()) : nullptr;
    if (named != nullptr) named->cancel_said = clock_.present();
    if (named != nullptr && is_scheduler(event.node) && event.packet->sender_id() != kSchedulersName)
        note(StepCalledOff{}, event.node, named, clock_.present());
    if (named != nullptr && named->calling_off.is_known()) {
        named->calling_off.told = now;
        if (!by_user(event.node) && event.packet->job_cancel().requested_by() == kSchedulersName)
            note(CalledOff{}, event.node, named, clock_.present());
    }
    if (event.subject != wire::kSubjectAuditOutputPolicy) return;
    const bool is_progress = event.packet != nullptr && !event.packet->job_progress().job_id().empty();
    Job* about = is_progress ? &job(event.packet->job_progress().job_id()) : nullptr;
    OutputTold& fact = note(OutputTold{}, event.node, about, clock_.present());
    if (about == nullptr) return;
    fact.step = event.packet->job_progress().step_id();
    fact.message = event.packet->job_progress().message();
    fact.percent = event.packet->job_progress().percent();
    fact.denied = event.packet->job_progress().status() == cap::JOB_STATUS_DENIED;
    (fact.denied ? about->output.told_withheld : about->output.told_passed) = true;
}

/// What schedulers publish is about jobs that are over.
void Model::note_cancel(const Event& event) {
    if (event.job.empty() || !is_cancel(event) || event.packet->sender_id() == kSchedulersName) return;
    const std::string_view name = wire::trim(event.packet->job_cancel().job_id());
    if (!name.empty()) job(name).causes.of(Asked::cancel).called = true;
}

void Model::on_cancel_heard(const Event& event) {
    note_cancel(event);
    // Each word is for one of the schedulers, which share a queue, and for every worker.
    if (!is_cancel(event) || event.name.empty() || event.packet->sender_id() == kSchedulersName) return;
    const Job* named = known_job(event.packet->job_cancel().job_id());
    if (named == nullptr || named->calling_off.state == State::absent || is_final(named->calling_off.state)) return;
    note(AskedToCancel{}, event.node, named, clock_.present());
}

void Model::on_dispatch(const Event& event, Time now) {
    if (event.job.empty() || !is_dispatch(event)) return;
    CallingOff& known = job_of(event).calling_off;
    if (event.kind == EventKind::core_deliver) {
        // One that no replica has sent is forged; its worker is its own business.
        if (!known.is_over() || known.sent == kBeforeAll) return;
        known.too_late = now;
    } else if (event.when == When::before) {
        known.sender = event.node;
        known.sent = now;
        known.stored = known.too_late = kBeforeAll;
        return;
    } else if (event.when == When::answered && event.outcome == EventOutcome::applied) {
        known.stored = now;
        known.over_by_then = known.is_over();
    } else {
        return;
    }
    if (known.is_owed_anew()) note(SentTooLate{}, known.sender, &job_of(event), clock_.present());
}

void Model::on_submission(const Event& event) {
    if (event.kind == EventKind::submit) {
        if (event.job.empty() || event.when != When::answered || !event.flag) return;
        Job& told = job_of(event);
        if (told.submission.acknowledged != 0) return;
        told.submission.acknowledged = clock_.present();
        note(SubmitAcknowledged{}, event.node, &told, clock_.present());
        return;
    }
    const bool has_request = event.packet != nullptr && event.packet->has_job_request();
    if (has_request && event.subject == wire::kSubjectSubmit) note_topic(event.packet->job_request());
    constexpr std::string_view kSubmitId = "jobreq:";
    if (event.subject != wire::kSubjectSubmit) return;
    if (!event.job.empty()) job_of(event).submission.stored_at = clock_.told_at();
    if (!event.message_id.starts_with(kSubmitId)) return;
    // The message id is a header, and still names the job that the gateway meant.
    const std::string_view meant = event.message_id.substr(kSubmitId.size());
    if (meant.empty()) return;
    Job& named = job(meant);
    const bool says_this = event.packet != nullptr && event.packet->has_job_request() && event.job == meant;
    const bool asks = says_this && !wire::rejection(event.packet->job_request());
    on_step_stored(event, named, says_this);
    on_compensation_stored(event, named);
    Submission& submission = named.submission;
    submission.garbled |= !asks;
    submission.only_stored |= asks && !submission.recorded;
}

void Model::on_request_submitted(const cap::JobRequest& request) {
    job(request.job_id()).marks.submitted(request, clock_.present());
    note_topic(request);
}

void Model::note_topic(const cap::JobRequest& request) {
    if (request.job_id().empty()) return;
    std::optional<std::string>& known = job(request.job_id()).plain_topic;
    const std::string topic = asks_for_topic_only(request) ? request.topic() : "";
    if (!known)
        known = topic;
    else if (*known != topic)
        known->clear();
}

void Model::on_submission_settled(const Event& event) {
    if (event.job.empty() || event.name != kSchedulersSubmissions) return;
    Job& about = job_of(event);
    if (event.kind == EventKind::deliver) {
        // Another message about the job on that subject is no submission.
        if (event.packet != nullptr && !event.packet->has_job_request()) return;
        if (submissions_.try_emplace(event.sequence, &about).second) ++about.submission.unsettled;
        return;
    }
    const auto delivered = submissions_.find(event.sequence);
    // Of a message that had this number before the server lost it: not the one that has it now.
    if (event.when != When::before || delivered == submissions_.end() || delivered->second != &about) return;
    submissions_.erase(delivered);
    SubmissionSettled& fact = note(SubmissionSettled{}, event.node, &about, clock_.present());
    fact.was_only_one = about.submission.unsettled-- == 1;
    const auto processed = processed_submissions_.find(event.sequence);
    fact.processed = processed == processed_submissions_.end() ? 0 : processed->second;
    if (event.kind == EventKind::term) fact.given_up_at = deliveries_.life_of(event).deliveries;
}

void Model::on_success_said(const Event& event) {
    if (event.subject != wire::kSubjectResult || event.packet == nullptr) return;
    const cap::JobResult& result = event.packet->job_result();
    if (result.status() != cap::JOB_STATUS_SUCCEEDED || result.job_id().empty()) return;
    std::vector<GivenPointer>& given = job(result.job_id()).given;
    const auto place = std::ranges::lower_bound(given, result.result_ptr(), {}, &GivenPointer::pointer);
    if (place != given.end() && place->pointer == result.result_ptr()) return;
    given.insert(place, {result.result_ptr(), clock_.present()});
}

/// What the power cut took, and what no other server of NATS had.
void Model::forget_in_nats(const Event& fault) {
    const bool power_cut = fault.name == "nats.power_cut";
    const bool new_leader = fault.name == "nats.new_leader" && fault.from == "begin";
    const bool leader_lost = new_leader && !leader_noted_;
    if (new_leader) result_readers_.leader_changed(tunables().least_of(&engine::Tunables::bus_max_ack_pending));
    if (fault.name == "nats.restart") result_readers_.server_restarted();
    if (power_cut && fault.from != "end") result_readers_.power_cut();
    if (!power_cut && !leader_lost) return;
    if (power_cut) {
        runs_.cut_off(upcoming());
        unsettled_results_.clear();
        submissions_.clear();
        processed_submissions_.clear();
        late_deliveries_.all_lost();
    }
    for (Job& job : jobs_) {
        if (power_cut) {
            job.passage.lost_in_stream();
            job.submission.unsettled = 0;
            job.bad_end.delivered_before_cut |= job.bad_end.delivered;
            job.results.all_lost();
        }
        job.submission.cut_off |= std::exchange(job.submission.only_stored, false);
    }
}

void Model::on_output_question(const Event& event) {
    if (event.job.empty()) return;
    Job& job = job_of(event);
    std::shared_ptr<cap_output::OutputCheckRequest> question;
    if (event.when == When::before) {
        question = std::make_shared<cap_output::OutputCheckRequest>();
        if (!question->ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) question.reset();
    }
    note_output_call(event, job, question.get());
    if (event.when == When::answered) job.scans.answered(event, clock_.present());
    if (event.when == When::answered && event.outcome == EventOutcome::applied) {
        bool is_latest = false;
        recount(job, [&] { is_latest = job.output.answered(event.node, event.to, clock_.present()); });
        if (is_latest) note(OutputAnswered{}, event.node, &job, clock_.present());
    }
    if (event.when != When::before) return;
    job.output.asked(event.node, clock_.present());
    const EventNumber taken = job.lock.taken_by(event.node).event;
    const bool is_about_result = job.scans.asked(event.node, taken > at(event.node).start.since.event ? taken : 0,
                                                 {clock_.present(), clock_.told_at()});
    if (question == nullptr) return;
    if (job.marks.any()) note_marks(event, job, job.marks.foreign_of(*question));
    const auto sizes = output_sizes_.find(wire::key_of_pointer(question->result_ptr()));
    OutputAsked& fact = note(OutputAsked{}, event.node, &job, clock_.present());
    if (sizes != output_sizes_.end()) fact.sizes = sizes->second;
    fact.question = std::move(question);
    fact.is_about_result = is_about_result;
}

void Model::at_rest(const fakes::redis::Keyspace& redis, bool quiet, std::size_t handlers_in_flight) {
    flush();
    if (quiet) listener_.on_time(Time::max());
    for (const Job& job : jobs_) {
        AtRest& fact = note(AtRest{}, {}, &job, clock_.present());
        fact.redis = &redis;
        fact.quiet = quiet;
        flush();
    }
    for (const WorkflowRun& run : runs_.all()) {
        RunAtRest& fact = note(RunAtRest{}, {}, nullptr, clock_.present());
        fact.run = &run;
        fact.redis = &redis;
        fact.quiet = quiet;
        flush();
    }
    AllAtRest& fact = note(AllAtRest{}, {}, nullptr, clock_.present());
    fact.redis = &redis;
    fact.quiet = quiet;
    fact.handlers_in_flight = handlers_in_flight;
    flush();
}

}  // namespace lockstep::sim
