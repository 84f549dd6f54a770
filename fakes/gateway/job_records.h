// What gateway and operator do to a job in Redis. They are the writers that the scheduler must live with: no fence, the
// time of their own node's clock, several round trips where the scheduler takes one, and only an approval takes the
// lock.
//
// Each call is one attempt with a deadline; what became of it is the answer, and trying again is the caller's business.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/redis.h"
#include "engine/runtime/task.h"
#include "engine/wire/fwd.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct RecordLifetimes {
    std::chrono::seconds metadata = std::chrono::hours{168};
    std::chrono::seconds data = std::chrono::hours{24};
    std::chrono::seconds idempotency = std::chrono::hours{2160};
    std::chrono::seconds dead_letter = std::chrono::hours{720};
};

class JobRecords {
public:
    using Outcome = engine::Outcome<engine::Done>;

    /// Everything must outlive this object and its tasks; the executor and Redis are the node's.
    JobRecords(World& world, NodeId node, engine::Executor& executor, engine::Redis& redis,
               RecordLifetimes lifetimes = {});

    // The steps of a submit, in their order.

    /// The id of the job that holds the request's idempotency key afterwards: its own, or that of an earlier one.
    [[nodiscard]] engine::Task<engine::Outcome<std::string>> reserve(cap::JobRequest request);
    /// The input, at `ctx:<job>`.
    [[nodiscard]] engine::Task<Outcome> write_context(std::string job, std::string body);
    struct Transition {
        bool made = false;
        std::string from;  // empty: there was no such job
    };
    /// The transition table's column of the target; refused where the table says so.
    [[nodiscard]] engine::Task<engine::Outcome<Transition>> set_state(std::string job, std::string target);
    /// Topic, tenant, trace, metadata with deadline, request: one round trip each. The tenant comes after the state, so
    /// a new job is not in its tenant's active set before its next transition.
    [[nodiscard]] engine::Task<Outcome> write_details(cap::JobRequest request, std::string trace_id);

    [[nodiscard]] engine::Task<engine::Outcome<Transition>> cancel(std::string job);

    // For an approval.

    /// False: somebody else holds it.
    [[nodiscard]] engine::Task<engine::Outcome<bool>> lock(std::string job, std::string token, engine::Duration ttl);
    [[nodiscard]] engine::Task<Outcome> unlock(std::string job, std::string token);
    struct Stored {
        std::string state, trace_id, decision, approval_required, job_hash, snapshot, approved_by;
        std::string topic;
        std::string request_json;  // empty: none
    };
    [[nodiscard]] engine::Task<engine::Outcome<Stored>> read(std::string job);
    [[nodiscard]] engine::Task<Outcome> write_request(cap::JobRequest request);
    /// `fields`: name, value, name, value ... of the job hash.
    [[nodiscard]] engine::Task<Outcome> write_fields(std::string job, std::vector<std::string> fields);
    /// A dead-letter entry, as the gateway writes one for every packet on the dead-letter subject.
    [[nodiscard]] engine::Task<Outcome> write_dead_letter(cap::JobResult letter, std::string topic,
                                                          std::string last_state);

private:
    /// A pipeline in which an error reply fails the whole: what came before it may have been applied.
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> all(std::vector<engine::RedisCommand> commands);
    engine::Task<Outcome> done(std::vector<engine::RedisCommand> commands);
    [[nodiscard]] engine::MonoTime deadline() const;
    [[nodiscard]] std::string now() const;

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Redis& redis_;
    const RecordLifetimes lifetimes_;
    const engine::RedisScript set_state_;
    const engine::RedisScript cancel_;
    const engine::RedisScript unlock_;
};

}  // namespace lockstep::fakes
