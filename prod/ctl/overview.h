// What a deployment is at: jobs by state, workers and what they have in hand, what waits on NATS. Read from Redis and NATS alone; no
// replica is asked.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"
#include "prod/ctl/waiting.h"

namespace lockstep::prod {

/// Of one durable of the schedulers (wire.md).
struct MessagesWaiting {
    std::uint64_t waiting = 0;  // not delivered yet
    std::uint64_t in_hand = 0;  // delivered, without a verdict
};

struct Overview {
    Micros at = 0;                                           // when it was read, by the clock of Redis
    std::vector<std::pair<std::string, std::int64_t>> jobs;  // by state, every state, in the order of the states
    std::optional<Micros> snapshot_at;                       // nothing: no scheduler has written one
    std::map<std::string, WorkerSeen, std::less<>> workers;  // by id, as the snapshot has them
    std::optional<MessagesWaiting> submissions;              // nothing: NATS does not tell
    std::optional<MessagesWaiting> results;

    /// Jobs that have ended and are still on file.
    [[nodiscard]] std::int64_t ended() const;
};

/// The error when Redis does not tell.
[[nodiscard]] engine::Task<tl::expected<Overview, std::string>> read_overview(Session& session);

/// The messages of the durable that reads this subject; nothing where there is no bus, no durable, or no answer.
[[nodiscard]] engine::Task<std::optional<MessagesWaiting>> messages_waiting(Session& session, std::string subject);
/// {waiting, in_hand}, or null.
[[nodiscard]] nlohmann::json messages_json(const std::optional<MessagesWaiting>& messages);

/// {at, jobs, workers, pools, messages}: times as RFC 3339, what is not known as null.
[[nodiscard]] nlohmann::json overview_json(const Overview& overview);

/// Some lines for people. `before`: an earlier look, from which it follows how many jobs end in a second; null: nobody knows.
/// At most `workers_max` workers are listed one by one, the busiest first.
[[nodiscard]] std::string overview_text(const Overview& now, const Overview* before, std::size_t workers_max);
/// The states that jobs are in, in one line: "2 PENDING, 40 SUCCEEDED"; "none".
[[nodiscard]] std::string jobs_line(const Overview& overview);

}  // namespace lockstep::prod
