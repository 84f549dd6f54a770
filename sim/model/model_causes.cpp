// What the model makes of what may explain the states of jobs: the operations of users, requests on their way, and results that schedulers
// receive.
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::When;
namespace wire = engine::wire;

void Model::on_operation(const Event& event) {
    if (event.job.empty()) return;
    Job& job = job_of(event);
    const bool rejects = event.kind == EventKind::approve && event.to == "DENIED";
    const Asked what = event.kind == EventKind::submit   ? Asked::submit
                       : event.kind == EventKind::cancel ? Asked::cancel
                       : rejects                         ? Asked::reject
                                                         : Asked::approve;
    if (what == Asked::submit) job.causes.is_named = true;
    if (what == Asked::approve) job.human.called();
    Operation& operation = job.causes.of(what);
    operation.called = true;
    operation.open = event.when == When::before;
    if (event.kind == EventKind::approve && operation.open) ++job.occasions;
    if (operation.open) return;
    operation.accepted |= event.flag;
    OperationAnswered& fact = note(OperationAnswered{}, event.node, &job, clock_.present());
    fact.what = what;
    fact.accepted = event.flag;
}

void Model::on_request(const Event& event) {
    if (event.job.empty() || event.packet == nullptr || !event.packet->has_job_request()) return;
    Job& named = job_of(event);
    Causes& causes = named.causes;
    causes.is_named = true;
    causes.is_sent |= event.subject != wire::kSubjectSubmit;
    if (!causes.request_stored)
        causes.input = input_names_.number_of(wire::key_of_pointer(event.packet->job_request().context_ptr()));
    // A name counts without the white space around it (wire.md 6.2).
    if (const std::string_view name = wire::trim(event.job); !name.empty() && name != named.name)
        job(name).causes.is_named = true;
}

void Model::on_result_received(const Event& event) {
    if (event.job.empty() || !is_result_in_hand(event)) return;
    Job& job = job_of(event);
    const cap::JobResult& result = event.packet->job_result();
    job.causes.is_named = true;
    switch (result.status()) {
        case cap::JOB_STATUS_TIMEOUT: job.reported.timeout = true; break;
        case cap::JOB_STATUS_SUCCEEDED: job.reported.success |= !result.worker_id().empty(); break;
        case cap::JOB_STATUS_CANCELLED: job.reported.cancelled |= !result.worker_id().empty(); break;
        case cap::JOB_STATUS_DENIED: break;
        case cap::JOB_STATUS_FAILED_RETRYABLE: job.reported.retryable_failure = true; [[fallthrough]];
        default: job.reported.failure = true;
    }
    const bool is_fatal = result.status() == cap::JOB_STATUS_FAILED_FATAL;
    job.reported.fatal |= is_fatal;
    job.reported.in_doubt |= !is_fatal || job.dispatch.worker != worker_names_.number_of(result.worker_id());
    const State end = state_asked_for(result);
    if (end == State::timeout || end == State::cancelled) job.calling_off.worker_ended_it = true;
}

/// The stream has a success, or acknowledged one.
void Model::on_success_stored(const Event& event) {
    if (event.job.empty() || event.subject != wire::kSubjectResult) return;
    const bool succeeds = event.packet == nullptr || event.packet->job_result().status() == cap::JOB_STATUS_SUCCEEDED;
    job_of(event).causes.success_stored |= succeeds;
}

void Model::on_input_read(const Event& event) {
    constexpr std::string_view kNil = "$-1\r\n";
    constexpr std::string_view kEmpty = "$0\r\n\r\n";
    constexpr std::string_view kOtherType = "-WRONGTYPE";
    if (event.payload == kNil || event.payload == kEmpty || event.payload.starts_with(kOtherType))
        ++inputs_missed_[std::string(event.key)];
}

int Model::misses_of_input(const Job& job) const {
    const auto found = inputs_missed_.find(input_names_.name_of(job.causes.input));
    return found == inputs_missed_.end() ? 0 : found->second;
}

}  // namespace lockstep::sim
