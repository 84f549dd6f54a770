// Message ids: what a JetStream stream uses to store a message once within its duplicate window. They protect the
// stream and not the subscribers, and they are forgotten after two minutes, so nothing may depend on them for safety.
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// With this label a request names its own message id. The gateway sets it when it submits an approved job again, which
/// the stream would otherwise take for the first submission.
inline constexpr std::string_view kMessageIdLabel = "cordum.bus_msg_id";

/// The id for publishing `packet` on `subject`; empty for none (progress, cancel, alert, or nothing to name it by).
/// Only for durable subjects (see subjects.h), and for everything but dispatches, which have the rule below.
[[nodiscard]] std::string message_id(const cap::BusPacket& packet, std::string_view subject);

/// The id of one dispatch to a worker, `jobreq:<job>:<number>`. Why the number: with the general rule a second dispatch
/// within the duplicate window would be swallowed by the stream and acknowledged as if it were new. REQUIRES: a job.
[[nodiscard]] std::string dispatch_message_id(const JobId& job, DispatchNumber dispatch);

/// Removes the label, as from every request that goes to a worker: it has served its purpose.
void strip_message_id_label(cap::JobRequest& request);

}  // namespace lockstep::engine::wire
