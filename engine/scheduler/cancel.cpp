#include "engine/scheduler/cancel.h"

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

Task<void> broadcast_cancel(Context& context, std::string job, std::string reason) {
    cap::JobCancel cancel;
    cancel.set_job_id(job);
    cancel.set_reason(std::move(reason));
    cancel.set_requested_by(kSchedulerSender);
    const auto packet = wire::make_packet(std::move(cancel), job, kSchedulerSender, context.ports.clock.now());
    const auto sent =
        co_await context.ports.bus.publish_core(std::string(wire::kSubjectCancel), wire::serialise(packet));
    if (!sent.applied())
        context.ports.log.event(LogLevel::warn, "cancellation not broadcast",
                                {{"job_id", job}, {"error", sent.failure().detail}});
}

Task<void> handle_cancel(Context& context, std::string job) {
    const auto cancelled = co_await context.store.cancel(job);
    if (!cancelled.applied()) {
        context.ports.metrics.add(Metric::job_cancel_failures);
        context.ports.log.event(LogLevel::error, "cancellation not stored",
                                {{"job_id", job}, {"error", cancelled.failure().detail}});
        co_return;
    }
    if (!cancelled.value().now)
        context.ports.log.event(LogLevel::warn, "cancellation of an unknown job", {{"job_id", job}});
}

}  // namespace lockstep::engine
