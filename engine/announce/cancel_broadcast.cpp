#include "engine/announce/cancel_broadcast.h"

#include <utility>

#include "engine/config/context.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

Task<void> broadcast_cancel(const Context& context, JobId job, std::string reason) {
    cap::JobCancel cancel;
    cancel.set_job_id(job.text());
    cancel.set_reason(std::move(reason));
    cancel.set_requested_by(wire::kSchedulerSender);
    const auto packet =
        wire::make_packet(std::move(cancel), job.text(), wire::kSchedulerSender, context.ports.clock.now());
    const auto sent =
        co_await context.ports.bus.publish_core(std::string(wire::kSubjectCancel), wire::serialise(packet));
    if (!sent.applied())
        context.ports.log.event(LogLevel::warn, "cancellation not broadcast",
                                {{"job_id", job}, {"error", sent.failure().detail}});
}

}  // namespace lockstep::engine
