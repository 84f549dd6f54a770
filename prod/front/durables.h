// The names that the front has on its own NATS and on those of cells, beside those of the protocol.
#pragma once

#include <string>
#include <string_view>

#include "engine/ports/bus.h"
#include "engine/wire/subjects.h"

namespace lockstep::prod {

/// The queue group of all that replicas of a front share. No scheduler, gateway or engine is in it, so their durables stay theirs.
inline constexpr std::string_view kFrontQueue = "lockstep-front";
/// Each start writes down here by what it routes.
inline constexpr std::string_view kSubjectRouting = "sys.front.routing";
/// Messages of one durable that are in hand, those that wait for their next try included.
inline constexpr int kInHandMax = 256;

/// Where the submissions of a cell stand until its stream has them: in the stream of the front, `sys.>`.
[[nodiscard]] inline std::string line_subject(std::string_view cell) { return "sys.front.line." + std::string(cell); }

[[nodiscard]] inline std::string front_durable(std::string_view subject) {
    return engine::wire::durable_name(kFrontQueue, subject);
}

/// The durable of `subject` in the stream `sys.>`. Its messages come again for as long as the stream holds them.
[[nodiscard]] inline engine::ConsumerSpec front_spec(std::string_view subject, engine::Duration ack_wait,
                                                     std::int64_t rate_limit_bps) {
    return {.stream = std::string(engine::wire::kStreamSys),
            .subject = std::string(subject),
            .queue = std::string(kFrontQueue),
            .durable = front_durable(subject),
            .ack_wait = ack_wait,
            .max_deliver = -1,
            .max_ack_pending = kInHandMax,
            .rate_limit_bps = rate_limit_bps};
}

}  // namespace lockstep::prod
