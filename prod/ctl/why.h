// `why` and `queue`: why jobs wait, from Redis and NATS alone. Nothing is changed, and no replica is asked: it works while none runs.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"
#include "prod/ctl/waiting.h"

namespace lockstep::prod {

/// The cause for one job. Of one that Redis does not know, the submissions that nobody has settled are looked through, where there
/// is a bus. Exit code 3: nothing is known of it.
[[nodiscard]] engine::Task<int> show_why(Session& session, std::string job, bool json);

struct QueueOptions {
    std::int64_t limit = 1000;  // jobs that are looked at, the oldest of each state
    bool each = false;          // list them instead of counting them by cause
    bool json = false;
};
/// What waits before a worker has it (PENDING, APPROVAL_REQUIRED, SCHEDULED, DISPATCHED) by cause and topic, and the messages that no
/// scheduler has taken.
[[nodiscard]] engine::Task<int> show_queue(Session& session, QueueOptions options);

/// When a snapshot of workers was written, by the clock of Redis; also of one that names no worker. Nothing where it does not say.
[[nodiscard]] std::optional<Micros> snapshot_time(std::string_view snapshot);

/// What is the same for all jobs; the error when Redis does not tell. Documents that cannot be read count as missing.
[[nodiscard]] engine::Task<tl::expected<Surroundings, std::string>> read_surroundings(Session& session);

}  // namespace lockstep::prod
