#include "engine/announce/output_audit.h"

#include <fmt/core.h>

#include "engine/config/context.h"
#include "engine/store/dead_letter.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

Task<bool> publish(const Context& context, std::string job, cap::JobStatus status, std::string message) {
    cap::JobProgress event;
    event.set_job_id(job);
    event.set_step_id("output_policy");
    event.set_percent(100);
    event.set_status(status);
    event.set_message(std::move(message));
    const auto packet = wire::make_packet(std::move(event), job, wire::kSchedulerSender, context.ports.clock.now());
    const auto sent =
        co_await context.ports.bus.publish_core(std::string(wire::kSubjectAuditOutputPolicy), wire::serialise(packet));
    co_return sent.applied();
}

std::string message_of(const std::string& reason, const std::string& topic) {
    return fmt::format("{} (topic={})", reason, topic);
}

}  // namespace

bool tells_of_output(const DeadLetter& letter) {
    return letter.reason_code == kCodeQuarantined || letter.reason_code == kCodeQuarantinedAsync;
}

Task<bool> audit_withheld(const Context& context, DeadLetter letter) {
    co_return co_await publish(context, letter.id, cap::JOB_STATUS_DENIED, message_of(letter.reason, letter.topic));
}

Task<void> audit_passed(const Context& context, JobId job, std::string topic, std::string reason) {
    const bool sent = co_await publish(context, job.text(), cap::JOB_STATUS_SUCCEEDED, message_of(reason, topic));
    if (!sent) context.ports.log.event(LogLevel::warn, "audit event of an output not published", {{"job_id", job}});
}

}  // namespace lockstep::engine
